//! `webhook/` and the command `webhook`.

#[cfg(feature = "webhook")]
mod api_server;
mod chart;
#[cfg(feature = "webhook")]
pub(crate) mod server;
