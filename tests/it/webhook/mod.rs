//! `webhook/` and the command `webhook`.

#[cfg(feature = "webhook")]
pub(crate) mod api_server;
mod chart;
#[cfg(feature = "webhook")]
mod dev;
#[cfg(feature = "webhook")]
pub(crate) mod server;
