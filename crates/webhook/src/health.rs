//! The plain port: `/livez`, `/readyz` and `/metrics`.

use crate::certificate::Certificate;
use crate::current::Current;
use crate::metrics::{self, Metrics};
use crate::respond::{plain, with_content_type};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// The state that the plain port shows.
pub struct Health {
    pub certificate: Arc<Current<Certificate>>,
    pub metrics: Arc<Metrics>,
    pub is_draining: Arc<AtomicBool>,
}

impl Health {
    /// Answers one request.
    pub fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return plain(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET is supported on this port",
            );
        }
        match request.uri().path() {
            "/livez" => plain(StatusCode::OK, "ok"),
            "/readyz" => match self.not_ready() {
                None => plain(StatusCode::OK, "ok"),
                Some(reason) => plain(StatusCode::SERVICE_UNAVAILABLE, &reason),
            },
            "/metrics" => with_content_type(self.metrics.text().into(), metrics::CONTENT_TYPE),
            _ => plain(
                StatusCode::NOT_FOUND,
                "the paths of this port are /livez, /readyz and /metrics",
            ),
        }
    }

    fn not_ready(&self) -> Option<String> {
        if self.is_draining.load(Ordering::Relaxed) {
            return Some("draining".to_owned());
        }
        let invalid = self.certificate.get().check(SystemTime::now()).err()?;
        Some(format!("the certificate {invalid}"))
    }
}
