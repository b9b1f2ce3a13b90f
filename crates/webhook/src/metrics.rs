//! Metrics, in the text format of OpenMetrics.

use crate::log;
use admission::Hook;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use rustls::AlertDescription;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The content type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds in seconds: 50 µs to 1 s.
const BUCKETS: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0,
];

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// The server's metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<Labels<3>, Counter>,
    refused: Family<Labels<1>, Counter>,
    shed: Family<Labels<1>, Counter>,
    duration: Family<Labels<1>, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    pub connections: Gauge,
    handshake_failures: Family<Labels<1>, Counter>,
    reloads: Family<Labels<2>, Counter>,
    reload_failing: Family<Labels<1>, Gauge>,
    pub certificate_expiry: Gauge,
    pub ca_expiry: Gauge,
    dropped_lines: Counter,
}

/// A limit that a request or a connection ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of bodies in flight.
    Bodies,
    /// Bytes of answers that are not read.
    Answers,
    /// Reviews in the engine.
    Reviews,
    /// Open connections.
    Connections,
}

impl Limit {
    const ALL: [Self; 4] = [
        Self::Bodies,
        Self::Answers,
        Self::Reviews,
        Self::Connections,
    ];

    fn name(self) -> &'static str {
        match self {
            Limit::Bodies => "bodies",
            Limit::Answers => "answers",
            Limit::Reviews => "reviews",
            Limit::Connections => "connections",
        }
    }
}

/// A review that waits or runs, counted until it is dropped.
#[derive(Debug)]
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A reason for which a TLS handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// The client does not trust the server's certificate: the `caBundle` is another authority's.
    CertificateRefused,
    /// The client has no certificate of `--client-ca`.
    ClientCertificate,
    /// The client broke off, or speaks no TLS that is served here.
    Other,
}

impl HandshakeFailure {
    const ALL: [Self; 3] = [
        Self::CertificateRefused,
        Self::ClientCertificate,
        Self::Other,
    ];

    pub fn of(error: Option<&rustls::Error>) -> Self {
        match error {
            Some(rustls::Error::AlertReceived(alert)) if is_about_certificate(*alert) => {
                Self::CertificateRefused
            }
            Some(rustls::Error::NoCertificatesPresented | rustls::Error::InvalidCertificate(_)) => {
                Self::ClientCertificate
            }
            _ => Self::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::CertificateRefused => "certificate-refused",
            Self::ClientCertificate => "client-certificate",
            Self::Other => "other",
        }
    }

    /// Returns the line of the log; none if operators have nothing to do.
    pub fn line(self) -> Option<&'static str> {
        match self {
            Self::CertificateRefused => Some("a client refused the certificate"),
            Self::ClientCertificate => Some("a client has no certificate of the client CA"),
            Self::Other => None,
        }
    }
}

/// Returns true for the alerts of clients that do not trust a certificate. Any client may send any other.
fn is_about_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            // A CA of the same name with another key.
            | AlertDescription::DecryptError
    )
}

/// A file that is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadSource {
    /// Certificate and key.
    Certificate,
    /// The configuration.
    Configuration,
}

impl ReloadSource {
    pub fn name(self) -> &'static str {
        match self {
            ReloadSource::Certificate => "certificate",
            ReloadSource::Configuration => "configuration",
        }
    }
}

/// Returns a new metric, which the registry has under this name.
fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("mackerel_agent_injector");
        let metrics = Self {
            requests: registered(
                &mut registry,
                "requests",
                "Reviews answered, by hook, decision and dry run",
            ),
            refused: registered(
                &mut registry,
                "refused",
                "HTTP requests answered without a review, by status",
            ),
            shed: registered(
                &mut registry,
                "shed",
                "Requests and connections refused at a limit",
            ),
            duration: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            in_flight: registered(
                &mut registry,
                "requests_in_flight",
                "Reviews that wait or run",
            ),
            connections: registered(
                &mut registry,
                "connections",
                "Open connections to the hooks",
            ),
            handshake_failures: registered(
                &mut registry,
                "handshake_failures",
                "TLS handshakes that failed, by reason",
            ),
            reloads: registered(
                &mut registry,
                "reloads",
                "Changed files that were read again, by source and result",
            ),
            reload_failing: registered(
                &mut registry,
                "reload_failing",
                "1 while a file's content cannot be used and what was read before it is in use",
            ),
            certificate_expiry: registered(
                &mut registry,
                "certificate_expiry_timestamp_seconds",
                "Seconds since 1970 at which the serving certificate expires",
            ),
            ca_expiry: registered(
                &mut registry,
                "ca_expiry_timestamp_seconds",
                "Seconds since 1970 at which the authority that issued it expires; 0: unknown",
            ),
            dropped_lines: registered(
                &mut registry,
                "log_lines_dropped",
                "Lines of the log that were dropped because standard error was not read in time",
            ),
            registry: Mutex::default(),
        };
        registry.register(
            "request_duration_seconds",
            "From a request's head to its answer",
            metrics.duration.clone(),
        );
        metrics.begin_series();
        Self {
            registry: Mutex::new(registry),
            ..metrics
        }
    }

    /// Begins the series of alerts at 0: `increase` of Prometheus does not count the event with which a series begins.
    fn begin_series(&self) {
        for source in [ReloadSource::Certificate, ReloadSource::Configuration] {
            self.reload_failing(source, false);
        }
        for hook in Hook::ALL {
            let decision = ("decision", "internal-error");
            let labels = [("hook", hook.name()), decision, ("dry_run", "false")];
            drop(self.requests.get_or_create(&labels));
        }
        for failure in HandshakeFailure::ALL {
            let labels = [("reason", failure.name())];
            drop(self.handshake_failures.get_or_create(&labels));
        }
        for limit in Limit::ALL {
            drop(self.shed.get_or_create(&[("limit", limit.name())]));
        }
    }

    /// Counts an answered review.
    pub fn reviewed(
        &self,
        hook: &'static str,
        decision: &'static str,
        is_dry_run: bool,
        duration: Duration,
    ) {
        let dry_run = if is_dry_run { "true" } else { "false" };
        self.requests
            .get_or_create(&[("hook", hook), ("decision", decision), ("dry_run", dry_run)])
            .inc();
        self.duration
            .get_or_create(&[("hook", hook)])
            .observe(duration.as_secs_f64());
    }

    /// Counts a review that waits or runs.
    pub fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Counts a request that was answered without a review.
    pub fn refused(&self, code: &'static str) {
        self.refused.get_or_create(&[("code", code)]).inc();
    }

    pub fn handshake_failed(&self, failure: HandshakeFailure) {
        self.handshake_failures
            .get_or_create(&[("reason", failure.name())])
            .inc();
    }

    pub fn shed(&self, limit: Limit) {
        self.shed.get_or_create(&[("limit", limit.name())]).inc();
    }

    /// Counts a changed file that was, or could not be, put to use.
    pub fn reloaded(&self, source: ReloadSource, is_done: bool) {
        let result = if is_done { "done" } else { "failed" };
        self.reloads
            .get_or_create(&[("source", source.name()), ("result", result)])
            .inc();
    }

    pub fn reload_failing(&self, source: ReloadSource, is_failing: bool) {
        self.reload_failing
            .get_or_create(&[("source", source.name())])
            .set(i64::from(is_failing));
    }

    /// Returns all metrics.
    pub fn text(&self) -> String {
        self.dropped_lines
            .inner()
            .store(log::dropped_lines(), Ordering::Relaxed);
        let mut text = String::new();
        let registry = self
            .registry
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_alerts_begin_at_zero() {
        let text = Metrics::new().text();
        for series in [
            r#"requests_total{hook="mutate",decision="internal-error",dry_run="false"} 0"#,
            r#"requests_total{hook="wait-for",decision="internal-error",dry_run="false"} 0"#,
            r#"handshake_failures_total{reason="certificate-refused"} 0"#,
            r#"handshake_failures_total{reason="client-certificate"} 0"#,
            r#"shed_total{limit="bodies"} 0"#,
            r#"shed_total{limit="answers"} 0"#,
            r#"shed_total{limit="reviews"} 0"#,
            r#"shed_total{limit="connections"} 0"#,
        ] {
            assert!(text.contains(series), "{series}: {text}");
        }
    }
}
