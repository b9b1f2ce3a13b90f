//! Errors and warnings with their place in the text:
//!
//! ```text
//! error[uneditable]: the pod template is reached through an alias
//!   --> deploy.yaml:12:13
//!    |
//! 12 |   template: *base
//!    |             ^^^^^
//!    = help: write the template out instead of the alias
//! ```

pub mod closest;
mod excerpt;
mod position;
mod severity;
mod visible;

pub use position::LineCounter;
pub use position::Position;
pub use severity::Severity;

use excerpt::Excerpt;
pub use excerpt::columns;
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;
pub use visible::{shell_argument, shell_word, visible, visible_json};

/// The kind of text that a place is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// A file or stream; a place is shown with line and column.
    Lines,
    /// An argument; a place is shown with the name of the argument.
    Argument,
    /// A file, folder or resource as a whole; a place is its name.
    Whole,
}

/// A range of a named text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'t> {
    /// The name of the file, `<stdin>`, or the argument, such as `--set #2`.
    pub name: Cow<'t, str>,
    /// The kind of text.
    pub medium: Medium,
    /// The whole text, which need not be UTF-8.
    pub text: &'t [u8],
    /// Bytes of the text; empty for a place where something is missing. Offsets beyond the end count as the end.
    pub range: Range<usize>,
}

impl<'t> Place<'t> {
    /// Returns a place in a file or stream.
    pub fn of_lines(name: impl Into<Cow<'t, str>>, text: &'t [u8], range: Range<usize>) -> Self {
        Place {
            name: name.into(),
            medium: Medium::Lines,
            text,
            range,
        }
    }

    /// Returns a place in an argument.
    pub fn of_argument(name: impl Into<Cow<'t, str>>, text: &'t [u8], range: Range<usize>) -> Self {
        Place {
            name: name.into(),
            medium: Medium::Argument,
            text,
            range,
        }
    }

    /// Returns a file, folder or resource as a whole.
    pub(crate) fn of_whole(name: impl Into<Cow<'t, str>>) -> Self {
        Place {
            name: name.into(),
            medium: Medium::Whole,
            text: &[],
            range: 0..0,
        }
    }

    /// Returns the place without the text at it, which may be a secret.
    pub fn without_text(self) -> Self {
        Place::of_whole(self.label(self.position()))
    }

    /// Returns line and column of its start.
    pub fn position(&self) -> Position {
        LineCounter::new(self.text).position(self.range.start)
    }

    /// Returns `web.yaml:3:1`, or `--set #2` for an argument.
    fn label(&self, position: Position) -> String {
        let Position { line, column, .. } = position;
        match self.medium {
            Medium::Lines => format!("{}:{line}:{column}", visible(&self.name)),
            Medium::Argument | Medium::Whole => visible(&self.name).into_owned(),
        }
    }
}

/// An error, warning or note for the user. Sentences are lower case, without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic<'t> {
    /// Its severity.
    pub severity: Severity,
    /// The stable id of its reason, if there is one.
    pub id: Option<&'static str>,
    /// The problem.
    pub message: String,
    /// The place in the text, if there is one.
    pub place: Option<Place<'t>>,
    /// Additional facts.
    pub notes: Vec<String>,
    /// The next step for the user.
    pub help: Option<String>,
}

impl<'t> Diagnostic<'t> {
    /// Returns an error without id and place.
    pub fn error(message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            id: None,
            message: message.into(),
            place: None,
            notes: Vec::new(),
            help: None,
        }
    }

    /// Sets the place.
    pub fn at(mut self, place: Place<'t>) -> Self {
        self.place = Some(place);
        self
    }

    /// Sets the help.
    pub fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

/// Returns `message; help`, for formats that have one text.
pub fn with_help(message: &str, help: Option<&str>) -> String {
    match help {
        Some(help) => format!("{message}; {help}"),
        None => message.to_owned(),
    }
}

/// `a, b and c`
pub fn enumeration(names: &[String]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Writes [`Diagnostic::picture`] without colours.
impl fmt::Display for Diagnostic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.picture(Colour::Never))
    }
}

/// Use of ANSI colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// Plain text
    #[default]
    Never,
    /// ANSI escape sequences
    Always,
}

impl Diagnostic<'_> {
    /// Renders one line, without line break: `file:line:column: error[id]: message`.
    #[must_use]
    pub fn line(&self) -> String {
        let title = self.title(Colour::Never);
        match &self.place {
            Some(place) => format!("{}: {title}", place.label(place.position())),
            None => title,
        }
    }

    /// Renders one line as [`line`](Self::line), with the help: for logs, which show no picture.
    #[must_use]
    pub fn line_with_help(&self) -> String {
        with_help(&self.line(), self.help.as_deref().map(visible).as_deref())
    }

    /// Renders title, excerpt, notes and help as in the module's example, with a final line break.
    #[must_use]
    pub fn picture(&self, colour: Colour) -> String {
        let position = self.place.as_ref().map(Place::position);
        self.picture_at(position, colour)
    }

    /// Renders the picture with a position of the place that is known: to count the lines of a long text takes time.
    #[must_use]
    pub fn picture_at(&self, position: Option<Position>, colour: Colour) -> String {
        let mut picture = Picture::new(self, colour);
        if let (Some(place), Some(position)) = (&self.place, position) {
            let number = match place.medium {
                Medium::Lines => position.line.to_string(),
                Medium::Argument | Medium::Whole => " ".to_owned(),
            };
            picture.gutter = number.len();
            picture.add_arrow(&place.label(position));
            if place.medium != Medium::Whole
                && let Some(excerpt) = Excerpt::new(place.text, &position, &place.range)
            {
                picture.add_excerpt(&excerpt, &number, colour_code(self.severity));
            }
        }
        picture.end(self)
    }

    /// Renders title, places, notes and help, with a final line break.
    #[must_use]
    pub fn with_places(&self, places: &[String], colour: Colour) -> String {
        let mut picture = Picture::new(self, colour);
        for place in places {
            picture.add_arrow(&visible(place));
        }
        picture.end(self)
    }

    /// `error[uneditable]: the pod template is reached through an alias`
    fn title(&self, colour: Colour) -> String {
        let word = self.severity.name();
        let head = match self.id {
            Some(id) => format!("{word}[{id}]"),
            None => word.to_owned(),
        };
        let head = colour.paint(&head, colour_code(self.severity));
        format!("{head}: {}", visible(&self.message))
    }
}

/// The lines of a diagnostic.
struct Picture {
    text: String,
    /// Width of the line number.
    gutter: usize,
    colour: Colour,
}

impl Picture {
    fn new(diagnostic: &Diagnostic<'_>, colour: Colour) -> Self {
        Picture {
            text: diagnostic.title(colour) + "\n",
            gutter: 1,
            colour,
        }
    }

    /// Adds `--> web.yaml:3:1`.
    fn add_arrow(&mut self, place: &str) {
        let (gutter, arrow) = (self.gutter, self.colour.paint("-->", GUTTER));
        let _ = writeln!(self.text, "{:gutter$}{arrow} {place}", "");
    }

    /// Adds the line with carets below it.
    fn add_excerpt(&mut self, excerpt: &Excerpt, number: &str, colour_code: &str) {
        let carets = "^".repeat(excerpt.width);
        let marks = self.colour.paint(&carets, colour_code);
        self.add("", "|", "");
        self.add(number, "|", &excerpt.line);
        self.add("", "|", &format!("{:1$}{marks}", "", excerpt.indent));
    }

    /// Adds notes and help, and returns the text.
    fn end(mut self, diagnostic: &Diagnostic<'_>) -> String {
        let notes = diagnostic.notes.iter().map(|note| ("note:", note));
        for (word, sentence) in notes.chain(diagnostic.help.iter().map(|help| ("help:", help))) {
            let word = self.colour.paint(word, BOLD);
            self.add("", "=", &format!("{word} {}", visible(sentence)));
        }
        self.text
    }

    /// Adds `12 | text`.
    fn add(&mut self, number: &str, mark: &str, text: &str) {
        let blanks = " ".repeat(self.gutter - number.len());
        let number = self.colour.paint(number, GUTTER);
        let mark = self.colour.paint(mark, GUTTER);
        let line = format!("{blanks}{number} {mark} {text}");
        self.text.extend([line.trim_end(), "\n"]);
    }
}

/// Returns the parameters of the escape sequence for a severity.
fn colour_code(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "1;36",
        Severity::Warning => "1;33",
        Severity::Error => "1;31",
    }
}

impl Colour {
    /// Puts a text between escape sequences.
    pub fn paint<'a>(self, text: &'a str, code: &str) -> Cow<'a, str> {
        match self {
            Colour::Always if !text.is_empty() => Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m")),
            _ => Cow::Borrowed(text),
        }
    }
}

const GUTTER: &str = "1;34";
pub const BOLD: &str = "1";

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(text: &[u8], range: Range<usize>) -> Diagnostic<'_> {
        let place = Place::of_lines("a.yaml", text, range);
        Diagnostic::error("wrong").at(place)
    }

    fn picture(text: &[u8], range: Range<usize>) -> String {
        diagnostic(text, range).picture(Colour::Never)
    }

    #[test]
    fn picture_has_title_place_line_caret_note_and_help() {
        let mut shown =
            diagnostic(b"a: 1\nb: two\n", 8..11).with_help(Some("write `2`".to_owned()));
        shown.id = Some("uneditable");
        shown.notes.push("numbers only".to_owned());
        let expected = "error[uneditable]: wrong\n --> a.yaml:2:4\n  |\n2 | b: two\n  |    ^^^\n  = note: numbers only\n  = help: write `2`\n";
        assert_eq!(shown.picture(Colour::Never), expected);
        assert_eq!(shown.line(), "a.yaml:2:4: error[uneditable]: wrong");
    }

    #[test]
    fn an_argument_has_no_lines() {
        let shown = Diagnostic::error("wrong").at(Place::of_argument("--set #2", b"a.b=1", 4..5));
        assert_eq!(
            shown.picture(Colour::Never),
            "error: wrong\n --> --set #2\n  |\n  | a.b=1\n  |     ^\n"
        );
        assert_eq!(shown.line(), "--set #2: error: wrong");
    }

    #[test]
    fn a_whole_file_has_no_excerpt() {
        let shown = Diagnostic::error("wrong")
            .at(Place::of_whole("charts"))
            .with_help(Some("mend it".to_owned()));
        assert_eq!(
            shown.picture(Colour::Never),
            "error: wrong\n --> charts\n  = help: mend it\n"
        );
    }

    #[test]
    fn colour_paints_without_changing_the_text() {
        let shown = diagnostic(b"a: 1\n", 3..4);
        let painted = shown.picture(Colour::Always);
        let mut plain = String::new();
        let mut rest = painted.as_str();
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain.push_str(rest);
        assert!(painted.contains("\x1b[1;31merror\x1b[0m"));
        assert_eq!(plain, shown.picture(Colour::Never));
    }

    #[test]
    fn picture_of_odd_lines() {
        let long = [b"x".repeat(300), b" here ".to_vec(), b"y".repeat(300)].concat();
        type ExcerptCase = (
            &'static str,
            &'static [u8],
            Range<usize>,
            &'static str,
            &'static str,
        );
        let cases: &[ExcerptCase] = &[
            ("tab", b"a:\n\tb: 1", 4..5, "2 |     b: 1", "  |     ^"),
            ("crlf", b"a: 1\r\nb: x\r\n", 9..10, "2 | b: x", "  |    ^"),
            (
                "wide characters",
                "名前: 値\n".as_bytes(),
                8..11,
                "1 | 名前: 値",
                "  |       ^^",
            ),
            (
                "first byte of a wide character",
                "a: 値\n".as_bytes(),
                3..4,
                "1 | a: 値",
                "  |    ^^",
            ),
            (
                "control characters",
                b"a: \x1b[31m\n",
                3..8,
                "1 | a: \u{241b}[31m",
                "  |    ^^^^^",
            ),
            (
                "direction override",
                "a: \u{202e}x\n".as_bytes(),
                3..6,
                "1 | a: <U+202E>x",
                "  |    ^^^^^^^^",
            ),
            (
                "not UTF-8",
                b"a: \xff\n",
                3..4,
                "1 | a: \u{fffd}",
                "  |    ^",
            ),
            (
                "range over several lines",
                b"a: [1,\n2]\n",
                3..9,
                "1 | a: [1,",
                "  |    ^^^",
            ),
            ("nothing there", b"a:\n", 2..2, "1 | a:", "  |   ^"),
            ("after the last line", b"a\n", 2..2, "2 |", "  | ^"),
            ("beyond the text", b"a", 7..9, "1 | a", "  |  ^"),
            ("empty text", b"", 0..0, "1 |", "  | ^"),
            (
                "byte order mark",
                b"\xef\xbb\xbfa: 1\n",
                3..4,
                "1 | a: 1",
                "  | ^",
            ),
        ];
        for (situation, text, range, line, marks) in cases {
            let shown = picture(text, range.clone());
            let lines: Vec<&str> = shown.lines().collect();
            assert_eq!(lines[3..5], [*line, *marks], "{situation}");
        }
        let shown = picture(&long, 301..305);
        let line = shown.lines().nth(3).unwrap();
        let marks = shown.lines().nth(4).unwrap();
        let caret = marks.find('^').unwrap();
        assert!(
            line.chars().count() <= 126 && line.contains("…xxx") && line.ends_with("yyy…"),
            "{line}"
        );
        assert_eq!(line.chars().skip(caret).take(4).collect::<String>(), "here");
        assert!(shown.contains("a.yaml:1:302"));
    }
}
