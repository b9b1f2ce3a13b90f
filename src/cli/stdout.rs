//! Stdout. Pieces of text are written one after the other, without a copy of the whole.

use crate::cli::input::io_message;
use crate::cli::messages::colour_of;
use report::Colour;
use std::io::{self, BufWriter, Write};

/// Size of the buffer; larger pieces are written directly.
const BUFFER: usize = 16 * 1024;

/// Writes pieces of text to stdout.
pub fn write<'t>(pieces: impl IntoIterator<Item = &'t str>) -> io::Result<()> {
    let error = match write_pieces(pieces) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let message = format!("stdout: {}", io_message(&error));
    Err(io::Error::new(error.kind(), message))
}

fn write_pieces<'t>(pieces: impl IntoIterator<Item = &'t str>) -> io::Result<()> {
    let mut stdout = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    for piece in pieces {
        stdout.write_all(piece.as_bytes())?;
    }
    stdout.flush()
}

/// Writes a diff, in colours if the terminal shows them.
pub fn write_diff(diff: &str) -> io::Result<()> {
    if colour_of(&io::stdout()) == Colour::Never {
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
