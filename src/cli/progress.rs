//! A line on a terminal about a run that takes long.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// The time after which the line appears.
const DELAY: Duration = Duration::from_secs(2);
/// The time between two changes of it.
const INTERVAL: Duration = Duration::from_millis(250);

/// The line `reading 1204 of 9000 files…`. It is erased before anything else is printed.
pub struct Progress {
    /// When the line is printed next; none if stderr is no terminal, or with `--quiet`.
    next: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    pub fn new(is_quiet: bool) -> Self {
        let is_seen = !is_quiet && io::stderr().is_terminal();
        Self {
            next: is_seen.then(|| Instant::now() + DELAY),
            is_shown: false,
        }
    }

    pub fn update(&mut self, read: usize, all: usize) {
        let now = Instant::now();
        if self.next.is_some_and(|next| next <= now) {
            self.next = Some(now + INTERVAL);
            self.is_shown = true;
            self.write(&format!("\rreading {read} of {all} files…"));
        }
    }

    fn write(&self, text: &str) {
        // The user may have closed stderr on purpose.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            self.write("\r\x1b[K");
        }
    }
}
