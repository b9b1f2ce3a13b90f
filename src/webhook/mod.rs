//! The admission webhook's server: AdmissionReviews by HTTP/1.1 and TLS to `admission/`, and back.
//!
//! - `server`: the ports, and the way from a signal to the end
//! - `connections`, `stream`: the open connections, and how long each may wait
//! - `respond`, `health`: requests to the hooks, requests to the plain port
//! - `engine`: where reviews are decided about
//! - `certificate`, `issue`: the serving certificate; one of one's own
//! - `reload`: certificate and configuration, read again
//! - `limits`, `metrics`, `log`: as they say

pub(crate) mod certificate;
mod connections;
mod engine;
mod health;
pub(crate) mod issue;
mod limits;
pub(crate) mod log;
mod metrics;
pub(crate) mod reload;
mod respond;
pub(crate) mod server;
mod stream;
