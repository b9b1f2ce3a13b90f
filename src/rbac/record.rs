//! The record of a generated object: in its own metadata, under the same key as a pod template's.
//!
//! ```text
//! v1;rbac
//! v1;rbac;then=---
//! ```
//!
//! - `then`: on the last document in front of a stream, the added line behind it

use std::fmt;

/// The beginning of every record of this format.
pub(super) const MARK: &str = "v1;rbac";

/// The added line between the last generated document and the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// No line: the stream begins with `---`, another generated document follows, or the object is an item of a list.
    None,
    /// An added `---`.
    Separator,
    /// An added `...`, which YAML requires before directives.
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

    /// The line that is needed in front of this stream.
    pub(super) fn before(stream: &str) -> Self {
        let begins = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']);
        if stream.strip_prefix("---").is_some_and(begins) {
            return Boundary::None;
        }
        let is_content =
            |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
        match stream.split(['\n', '\r']).find(is_content) {
            Some(directive) if directive.starts_with('%') => Boundary::End,
            _ => Boundary::Separator,
        }
    }
}

/// The content of the record annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RbacRecord {
    pub(super) then: Boundary,
}

impl fmt::Display for RbacRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)?;
        match self.then.line() {
            Some(line) => write!(f, ";then={line}"),
            None => Ok(()),
        }
    }
}

impl RbacRecord {
    /// Parses a record; none if it is something else, or of a later version.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let then = match text.strip_prefix(MARK)? {
            "" => Boundary::None,
            rest => {
                let line = rest.strip_prefix(";then=")?;
                [Boundary::Separator, Boundary::End]
                    .into_iter()
                    .find(|boundary| boundary.line() == Some(line))?
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
            assert_eq!(
                RbacRecord::parse(&RbacRecord { then }.to_string()),
                Some(RbacRecord { then })
            );
        }
        for other in [
            "",
            "v1;agent=container",
            "v1;rbacs",
            "v2;rbac",
            "v1;rbac;then=x",
        ] {
            assert_eq!(RbacRecord::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_boundary_is_added_only_where_the_stream_has_none() {
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
