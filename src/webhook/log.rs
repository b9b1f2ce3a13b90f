//! The log on standard error: one line per event, JSON or text.

use std::cell::RefCell;
use std::io;
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

/// Writes events from here on, and panics by their place alone: their messages may quote values of a pod.
pub(crate) fn init(format: LogFormat) {
    let builder = fmt().with_target(false).with_ansi(false).with_writer(io::stderr);
    match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).with_span_list(false).init(),
        LogFormat::Text => builder.init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        tracing::error!(place, "panic");
        PANIC.set(Some(place));
    }));
}

/// The place of this thread's last panic.
pub(crate) fn panic_place() -> Option<String> {
    PANIC.take()
}
