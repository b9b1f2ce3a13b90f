//! The record of a document that we added: in its own metadata, under the same key as a pod template's.
//!
//! ```text
//! v1;rbac
//! v1;rbac;then=---
//! ```
//!
//! - `then`: on the last document in front of a stream, the line behind it that is ours too

use std::fmt;

/// What every such record of this format begins with.
pub(super) const MARK: &str = "v1;rbac";

/// What parts our documents from the stream behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// The stream's own `---`, or nothing: an item of a list, or a document with another of ours behind it.
    None,
    /// A `---` of ours.
    Separator,
    /// A `...` of ours: directives follow, which may stand behind nothing else.
    End,
}

impl Boundary {
    /// The line, without its break.
    pub(super) fn line(self) -> Option<&'static str> {
        match self {
            Boundary::None => None,
            Boundary::Separator => Some("---"),
            Boundary::End => Some("..."),
        }
    }

    /// What must stand between a document of ours and this stream.
    pub(super) fn before(stream: &str) -> Self {
        let begins = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']);
        if stream.strip_prefix("---").is_some_and(begins) {
            return Boundary::None;
        }
        let is_content = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
        match stream.split(['\n', '\r']).find(is_content) {
            Some(directive) if directive.starts_with('%') => Boundary::End,
            _ => Boundary::Separator,
        }
    }
}

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) then: Boundary,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)?;
        match self.then.line() {
            Some(line) => write!(f, ";then={line}"),
            None => Ok(()),
        }
    }
}

impl Record {
    /// None where the text is no such record, or one of a later program.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let then = match text.strip_prefix(MARK)? {
            "" => Boundary::None,
            rest => {
                let line = rest.strip_prefix(";then=")?;
                [Boundary::Separator, Boundary::End].into_iter().find(|boundary| boundary.line() == Some(line))?
            }
        };
        Some(Self { then })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        for then in [Boundary::None, Boundary::Separator, Boundary::End] {
            assert_eq!(Record::parse(&Record { then }.to_string()), Some(Record { then }));
        }
        for other in ["", "v1;agent=container", "v1;rbacs", "v2;rbac", "v1;rbac;then=x"] {
            assert_eq!(Record::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_line_of_ours_stands_only_where_the_stream_brings_none() {
        for (stream, expected) in [
            ("---\na: 1\n", Boundary::None),
            ("--- # c\r\na: 1\r\n", Boundary::None),
            ("a: 1\n---\nb: 2\n", Boundary::Separator),
            ("# licence\n---\na: 1\n", Boundary::Separator),
            ("---a\n", Boundary::Separator),
            ("...\na: 1\n", Boundary::Separator),
            ("# c\n\n%YAML 1.1\n---\na: 1\n", Boundary::End),
            ("a: 1\n%b: 1\n", Boundary::Separator),
        ] {
            assert_eq!(Boundary::before(stream), expected, "{stream:?}");
        }
    }
}
