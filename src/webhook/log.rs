//! The log on standard error: one line per event, JSON or text.

use std::cell::RefCell;
use std::io;
use std::sync::OnceLock;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt;

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
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
pub(crate) fn init(format: LogFormat) -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default().buffered_lines_limit(MAX_LINES).finish(io::stderr());
    let _ = DROPPED.set(writer.error_counter());
    let builder = fmt().with_target(false).with_ansi(false).with_writer(writer);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
        LogFormat::Text => builder.init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        tracing::error!(place, "panic");
        PANIC.set(Some(place));
    }));
    guard
}

/// The number of lines dropped so far.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.get().map_or(0, |dropped| dropped.dropped_lines() as u64)
}

/// The place of this thread's last panic.
pub(crate) fn panic_place() -> Option<String> {
    PANIC.take()
}
