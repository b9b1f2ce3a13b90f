//! The admission webhook's server: AdmissionReviews by HTTP/1.1 and TLS to `admission/`, and back.
//!
//! - `server`: the ports, and the way from a signal to the end
//! - `connections`, `connection`, `stream`: the open connections, and how long each may wait
//! - `respond`, `health`: requests to the hooks, requests to the plain port
//! - `engine`: the threads that decide about reviews
//! - `certificate`, `issue`: the serving certificate, and a new one with its own authority
//! - `reload`, `current`: certificate and configuration, read again and replaced
//! - `limits`, `metrics`, `log`: the limits for requests, the metrics, the log

#![cfg(unix)]

mod certificate;
mod connection;
mod connections;
mod current;
mod engine;
mod health;
pub mod issue;
mod limits;
pub mod log;
mod metrics;
mod reload;
mod respond;
mod server;
mod stream;

pub use certificate::{Unusable, check_authorities};
pub use reload::{CertificateFiles, ConfigurationFile};
pub use server::{Settings, serve};
