//! The log on standard error: one line per event, JSON or text.

use std::cell::RefCell;
use std::io;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
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

/// Lines that wait for the reader of standard error. More are dropped: a log that nobody reads must not hold up pods.
const MAX_LINES: usize = 10_000;

/// Writes events from here on, on a thread of its own, until the guard is dropped; panics by their place alone: their messages may
/// quote values of a pod.
pub(crate) fn init(format: LogFormat) -> WorkerGuard {
    let (writer, guard) = NonBlockingBuilder::default().buffered_lines_limit(MAX_LINES).finish(io::stderr());
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

/// The place of this thread's last panic.
pub(crate) fn panic_place() -> Option<String> {
    PANIC.take()
}
