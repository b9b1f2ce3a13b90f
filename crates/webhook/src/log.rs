//! The log on standard error: one line per event, JSON or text.

use std::cell::RefCell;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt;

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object per line
    Json,
    /// For people
    Text,
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Lines that wait until the container runtime reads standard error. More are dropped: a slow runtime must not hold up pods.
const MAX_LINES: usize = 1_000;

static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// Writes events from here on, on a thread of its own, until the guard is dropped; panics by their place alone: their messages may
/// quote values of a pod.
pub fn init(format: LogFormat) -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_LINES)
        .finish(io::stderr());
    let _ = DROPPED.set(writer.error_counter());
    let builder = fmt()
        .with_target(false)
        .with_ansi(false)
        .with_writer(writer);
    match format {
        LogFormat::Json => builder
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .init(),
        LogFormat::Text => builder.init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        tracing::error!(place, "panic");
        PANIC.set(Some(place));
    }));
    guard
}

/// Lets one of many equal lines through every ten seconds: clients cause them as often as they like.
#[derive(Debug)]
pub(crate) struct Throttle(Mutex<LastLine>);

#[derive(Debug)]
struct LastLine {
    at: Option<Instant>,
    /// The number of lines left out since.
    left_out: u64,
}

impl Throttle {
    const WINDOW: Duration = Duration::from_secs(10);

    pub const fn new() -> Self {
        Self(Mutex::new(LastLine {
            at: None,
            left_out: 0,
        }))
    }

    /// Returns the number of lines that were left out before this one; none if this one is left out too.
    pub fn left_out(&self) -> Option<u64> {
        self.left_out_at(Instant::now())
    }

    fn left_out_at(&self, now: Instant) -> Option<u64> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last
            .at
            .is_some_and(|at| now.duration_since(at) < Self::WINDOW)
        {
            last.left_out += 1;
            return None;
        }
        last.at = Some(now);
        Some(std::mem::take(&mut last.left_out))
    }
}

/// The number of lines dropped so far.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED
        .get()
        .map_or(0, |dropped| dropped.dropped_lines() as u64)
}

/// The place of this thread's last panic: `panic at src/main.rs:1:1`.
pub(crate) fn last_panic() -> String {
    format!(
        "panic at {}",
        PANIC.take().as_deref().unwrap_or("an unknown place")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_ten_seconds_says_how_many_were_left_out() {
        let (throttle, start) = (Throttle::new(), Instant::now());
        let at = |milliseconds| throttle.left_out_at(start + Duration::from_millis(milliseconds));
        let lines = [0, 1, 9_999, 10_000, 10_001, 20_000, 30_000].map(at);
        assert_eq!(
            lines,
            [Some(0), None, None, Some(2), None, Some(1), Some(0)]
        );
    }
}
