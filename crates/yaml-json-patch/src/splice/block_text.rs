//! Strings of several lines as block scalars.

use crate::quote::has_readable_lines;

/// The style and place of a block scalar.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockTextStyle {
    /// `>`, not `|`
    pub(crate) folded: bool,
    /// Columns from its key or dash to its lines.
    pub(crate) step: usize,
    /// The column of its lines.
    pub(crate) column: usize,
    /// The header says the step, as in `|2`.
    pub(crate) indicator: bool,
    /// No blank line follows, which would belong to the text of `|+`.
    pub(crate) keep: bool,
}

/// A block scalar.
pub(crate) struct BlockText {
    pub(crate) header: String,
    /// The lines below the header, each with its line break.
    pub(crate) lines: String,
}

impl BlockTextStyle {
    /// Writes a string as a block scalar; none where some reader would get another one.
    pub(crate) fn write(self, text: &str, line_break: &str) -> Option<BlockText> {
        let ends_in_blank_line = text.ends_with("\n\n");
        let fits = self.keep || !ends_in_blank_line;
        if text.trim().is_empty() || !fits || !has_readable_lines(text) {
            return None;
        }
        let (body, chomping) = match text.strip_suffix('\n') {
            Some(body) if ends_in_blank_line => (body, "+"),
            Some(body) => (body, ""),
            None => (text, "-"),
        };
        let is_blank = |line: &str| line.starts_with([' ', '\t']);
        if self.folded && body.split('\n').any(is_blank) {
            return None;
        }
        let needs_indicator = self.indicator || text.starts_with([' ', '\t', '\n']);
        let indicator = match (needs_indicator, self.step) {
            (false, _) => String::new(),
            (true, 1..=9) => self.step.to_string(),
            (true, _) => return None,
        };
        let mark = if self.folded { ">" } else { "|" };
        Some(BlockText {
            header: [mark, &indicator, chomping].concat(),
            lines: self.lines(body, line_break),
        })
    }

    fn lines(self, body: &str, line_break: &str) -> String {
        let mut lines = String::new();
        let mut has_content = false;
        for line in body.split('\n') {
            if !line.is_empty() {
                // A single break would be folded to a blank.
                if self.folded && has_content {
                    lines.push_str(line_break);
                }
                lines.extend(std::iter::repeat_n(' ', self.column));
                lines.push_str(line);
                has_content = true;
            }
            lines.push_str(line_break);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockText, BlockTextStyle};
    use crate::{NodeId, read};

    #[test]
    fn a_block_scalar_is_read_as_the_string() {
        for text in [
            "a\nb\n",
            "a\nb",
            "a\n\n\nb\n",
            "\na",
            "  a\nb\n",
            "a\n  b",
            "a\n\tb\n",
            "a\n ",
            "\ta\nb",
            "a: b #c\n- d\n",
            "a\nb\n\n\n",
        ] {
            for folded in [false, true] {
                let style = BlockTextStyle {
                    folded,
                    step: 2,
                    column: 2,
                    indicator: false,
                    keep: true,
                };
                let Some(BlockText { header, lines }) = style.write(text, "\n") else {
                    assert!(folded, "{text:?}");
                    continue;
                };
                let document = format!("a: {header}\n{lines}b: 1\n");
                let tree = read(&document).unwrap();
                let (_, value) = tree.entries(NodeId(0)).next().unwrap();
                assert_eq!(tree.scalar(value).unwrap(), text, "{document}");
            }
        }
    }

    #[test]
    fn what_no_block_scalar_can_hold() {
        let style = BlockTextStyle {
            folded: false,
            step: 10,
            column: 10,
            indicator: false,
            keep: false,
        };
        for text in ["", "\n", "a\n\n", "a\r\nb", "a\u{85}\nb", "\n a"] {
            assert!(style.write(text, "\n").is_none(), "{text:?}");
        }
    }
}
