//! How far a long run is, for whoever sits before it.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_millis(100);
const WIDTH: usize = 30;

/// One line on stderr, there only while the run lasts.
#[derive(Debug)]
pub(crate) struct Progress {
    total: usize,
    next: Option<Instant>,
    drawn: bool,
}

impl Progress {
    /// Over `total` files; silent where stderr is no terminal.
    pub(crate) fn over(total: usize) -> Self {
        let next = (total > 1 && io::stderr().is_terminal()).then(|| Instant::now() + PATIENCE);
        Self { total, next, drawn: false }
    }

    pub(crate) fn at(&mut self, done: usize) {
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            let filled = WIDTH * done / self.total;
            let _ = write!(
                io::stderr(),
                "\r[{:=<filled$}{:WIDTH$.rest$}] {done}/{} files",
                "",
                "",
                self.total,
                rest = WIDTH - filled
            );
            (self.drawn, self.next) = (true, Some(now + BETWEEN));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
