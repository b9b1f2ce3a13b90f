//! Lines and columns of byte offsets.

use std::fmt;

/// A line and a column, both from 1. Displayed as `3:14`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line. A line ends in a line feed, a carriage return or both.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl Position {
    /// Returns the position of a byte offset; of the end of the text for offsets after it.
    ///
    /// ```
    /// use yaml_json_patch::{Patch, Position, apply};
    ///
    /// let text = "standby: &all [db1]\nhosts: *all\n";
    /// let patch: Patch = serde_json::from_str(r#"[{"op": "add", "path": "/hosts/-", "value": "db3"}]"#)?;
    /// let error = apply(text, &patch).unwrap_err();
    /// assert_eq!(Position::of(text, error.offset()).to_string(), "2:8");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let mut position = Self { line: 1, column: 1 };
        let mut last = '\0';
        for (_, character) in text.char_indices().take_while(|(at, _)| *at < offset) {
            if character == '\u{feff}' {
                continue;
            }
            let ends_line = matches!(character, '\n' | '\r');
            if ends_line && !(character == '\n' && last == '\r') {
                position.line += 1;
            }
            position.column = if ends_line { 1 } else { position.column + 1 };
            last = character;
        }
        position
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
