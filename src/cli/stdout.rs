//! The way out: slices in one go, nothing joined together before.

use crate::cli::input::io_message;
use std::io::{self, BufWriter, Write};

/// Pieces larger than this go out as they lie in memory.
const BUFFER: usize = 16 * 1024;

pub(crate) fn write<'t>(pieces: impl IntoIterator<Item = &'t str>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let write = || {
        pieces
            .into_iter()
            .try_for_each(|piece| out.write_all(piece.as_bytes()))?;
        out.flush()
    };
    write().map_err(|error: io::Error| {
        io::Error::new(error.kind(), format!("stdout: {}", io_message(&error)))
    })
}

/// Writes a diff, in colours if the terminal shows them.
pub(crate) fn write_diff(diff: &str) -> io::Result<()> {
    if matches!(
        anstream::AutoStream::choice(&io::stdout()),
        anstream::ColorChoice::Never
    ) {
        return write([diff]);
    }
    write(diff.split_inclusive('\n').flat_map(|line| {
        let (text, line_break) = line
            .strip_suffix('\n')
            .map_or((line, ""), |text| (text, "\n"));
        match paint(text) {
            Some(colour) => [colour, text, "\x1b[0m", line_break],
            None => ["", text, "", line_break],
        }
    }))
}

/// Returns the colour that git gives the line.
fn paint(line: &str) -> Option<&'static str> {
    match line.as_bytes() {
        [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Some("\x1b[1m"),
        [b'@', ..] => Some("\x1b[36m"),
        [b'-', ..] => Some("\x1b[31m"),
        [b'+', ..] => Some("\x1b[32m"),
        _ => None,
    }
}
