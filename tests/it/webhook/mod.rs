//! `webhook/` and the command `webhook`.

mod chart;
#[cfg(feature = "webhook")]
mod server;
