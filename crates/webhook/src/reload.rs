//! Certificate and configuration, read again every few seconds. They are compared by content: kubelet swaps a symbolic link
//! above mounted files, and no notification tells of that.

use crate::certificate::{Certificate, Pem, Unusable};
use crate::current::Current;
use crate::log;
use crate::metrics::{Metrics, ReloadSource};
use config::{Base, Config, ConfigReader, Sources, load};
use report::Diagnostic;
use rustls::pki_types::ServerName;
use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

/// The time between two readings of the files.
const INTERVAL: Duration = Duration::from_secs(5);
/// Certificate and key may have been read from both sides of a swap: an error counts only if it lasts.
const SECOND_LOOK: Duration = Duration::from_millis(100);

/// The files of the certificate, and the requirements for both sides of a connection.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The name that the certificate must have, if it is known.
    pub server_name: Option<ServerName<'static>>,
    /// Path of the authorities of clients; none if clients need no certificate.
    pub client_ca: Option<PathBuf>,
}

/// The configuration's file, and the settings of the command line, which replace those of the file.
#[derive(Debug, Clone)]
pub struct ConfigurationFile {
    pub path: PathBuf,
    pub set: Vec<String>,
    pub namespace: Option<String>,
}

impl CertificateFiles {
    /// # Errors
    /// The first file that cannot be read.
    pub fn read(&self) -> Result<Pem, String> {
        // cert-manager, the chart and `webhook certificate` put it there; it is for a metric alone.
        let authorities = fs::read(self.certificate.with_file_name("ca.crt")).unwrap_or_default();
        let client_ca = self.client_ca.as_deref().map(read_file).transpose()?;
        Ok(Pem {
            chain: read_file(&self.certificate)?,
            key: read_file(&self.key)?,
            authorities,
            client_ca,
        })
    }
}

impl ConfigurationFile {
    fn read(&self) -> Result<String, String> {
        let bytes = read_file(&self.path)?;
        String::from_utf8(bytes)
            .map_err(|_| format!("{}: the file is not UTF-8", self.path.display()))
    }

    fn load(&self, text: &str) -> Result<Config, String> {
        let name = self.path.display().to_string();
        let base = Base::Text { name: &name, text };
        let sources = Sources {
            base,
            set: &self.set,
            namespace: self.namespace.as_deref(),
            reader: ConfigReader::Webhook,
        };
        load(&sources).map_err(|diagnostics| {
            diagnostics
                .iter()
                .map(Diagnostic::line_with_help)
                .collect::<Vec<_>>()
                .join("; ")
        })
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads certificate and configuration again for as long as the server lives, on a thread of its own.
pub struct Reload {
    pub certificate_files: CertificateFiles,
    pub certificate: Arc<Current<Certificate>>,
    pub configuration_file: Option<ConfigurationFile>,
    pub config: Arc<Current<Config>>,
    pub metrics: Arc<Metrics>,
}

impl Reload {
    /// Starts the thread. The current certificate was read from `pem`.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(self, pem: Pem) -> io::Result<()> {
        self.show_expiry();
        let work = move || {
            let mut certificate = Seen::new(ReloadSource::Certificate, Some(pem));
            let mut configuration = Seen::new(ReloadSource::Configuration, None);
            loop {
                thread::sleep(INTERVAL);
                certificate.check(
                    &self.metrics,
                    || self.certificate_files.read(),
                    |pem| self.take_certificate(pem),
                );
                if let Some(file) = &self.configuration_file {
                    configuration.check(
                        &self.metrics,
                        || file.read(),
                        |text| self.take_configuration(file, text),
                    );
                }
            }
        };
        thread::Builder::new()
            .name("reload".to_owned())
            .spawn(work)
            .map(drop)
    }

    fn take_certificate(&self, pem: &Pem) -> Result<bool, String> {
        let name = self.certificate_files.server_name.as_ref();
        let certificate = Certificate::read(pem, name).map_err(|error| error.to_string())?;
        certificate
            .check(SystemTime::now())
            .map_err(|invalid| Unusable::NotValid(invalid).to_string())?;
        self.certificate.set(certificate);
        self.show_expiry();
        Ok(true)
    }

    fn take_configuration(&self, file: &ConfigurationFile, text: &str) -> Result<bool, String> {
        let config = file.load(text)?;
        let is_new = config != *self.config.get();
        if is_new {
            self.config.set(config);
        }
        Ok(is_new)
    }

    fn show_expiry(&self) {
        let certificate = self.certificate.get();
        self.metrics
            .certificate_expiry
            .set(certificate.validity.not_after);
        let authority = certificate.authority;
        self.metrics
            .ca_expiry
            .set(authority.map_or(0, |authority| authority.not_after));
    }
}

/// The content of a file as it was last seen.
struct Seen<C> {
    source: ReloadSource,
    /// The content in use, or one that was found to be invalid.
    content: Option<C>,
    error: Option<String>,
}

impl<C: PartialEq> Seen<C> {
    fn new(source: ReloadSource, content: Option<C>) -> Self {
        Self {
            source,
            content,
            error: None,
        }
    }

    /// Reads the file and takes a changed content. Tries again one that could not be used: a certificate becomes valid with time.
    /// Logs each error once.
    fn check(
        &mut self,
        metrics: &Metrics,
        read: impl Fn() -> Result<C, String>,
        take: impl Fn(&C) -> Result<bool, String>,
    ) {
        let attempt = || {
            let content = read()?;
            let is_known = self.error.is_none() && self.content.as_ref() == Some(&content);
            let is_new = !is_known && take(&content)?;
            Ok((content, is_new))
        };
        // After a panic the thread goes on: without it the certificate would expire.
        let attempt = || {
            panic::catch_unwind(AssertUnwindSafe(attempt))
                .unwrap_or_else(|_| Err(log::last_panic()))
        };
        let taken = attempt().or_else(|_| {
            thread::sleep(SECOND_LOOK);
            attempt()
        });
        let source = self.source.name();
        metrics.reload_failing(self.source, taken.is_err());
        match taken {
            Ok((content, is_new)) => {
                if is_new {
                    metrics.reloaded(self.source, true);
                    tracing::info!(source, "reloaded");
                }
                (self.content, self.error) = (Some(content), None);
            }
            Err(error) => {
                if self.error.as_ref() != Some(&error) {
                    metrics.reloaded(self.source, false);
                    tracing::error!(
                        source,
                        error,
                        "cannot reload; the previous content stays in use"
                    );
                }
                self.error = Some(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{CertificateRequest, issue};

    fn pem(now: SystemTime) -> Pem {
        let issued = issue(&CertificateRequest {
            service: "injector",
            namespace: "mackerel",
            days: 1,
            now,
        })
        .unwrap();
        let [chain, key, authorities] =
            [issued.certificate, issued.key, issued.authority].map(String::into_bytes);
        Pem {
            chain,
            key,
            authorities,
            client_ca: None,
        }
    }

    #[test]
    fn an_expired_certificate_is_not_taken_and_one_of_tomorrow_is_taken_tomorrow() {
        let (now, days) = (SystemTime::now(), Duration::from_secs(2 * 86_400));
        let [certificate, key] = ["tls.crt", "tls.key"].map(PathBuf::from);
        let files = CertificateFiles {
            certificate,
            key,
            server_name: None,
            client_ca: None,
        };
        let first = Certificate::read(&pem(now), None).unwrap();
        let not_after = first.validity.not_after;
        let reload = Reload {
            certificate_files: files,
            certificate: Arc::new(Current::new(first)),
            configuration_file: None,
            config: Arc::new(Current::new(Config::default())),
            metrics: Arc::new(Metrics::new()),
        };
        let mut seen = Seen::new(ReloadSource::Certificate, None);
        let mut look = |pem: Pem| {
            seen.check(
                &reload.metrics,
                || Ok(pem.clone()),
                |pem| reload.take_certificate(pem),
            )
        };
        for unusable in [pem(now - days), pem(now + days)] {
            look(unusable);
            assert_eq!(reload.certificate.get().validity.not_after, not_after);
            assert!(
                reload
                    .metrics
                    .text()
                    .contains("reload_failing{source=\"certificate\"} 1\n")
            );
        }
        look(pem(now + Duration::from_secs(60)));
        assert!(reload.certificate.get().validity.not_after > not_after);
        let text = reload.metrics.text();
        assert!(
            text.contains("reload_failing{source=\"certificate\"} 0\n"),
            "{text}"
        );
        assert!(
            text.contains(&format!("ca_expiry_timestamp_seconds {}\n", not_after + 60)),
            "{text}"
        );
    }

    #[test]
    fn after_a_panic_the_files_are_read_again() {
        let metrics = Metrics::new();
        let mut seen = Seen::new(ReloadSource::Configuration, None);
        seen.check(&metrics, || Ok(7), |_| panic!("planted"));
        let text = metrics.text();
        assert!(
            text.contains("reload_failing{source=\"configuration\"} 1\n"),
            "{text}"
        );
        assert!(
            text.contains("reloads_total{source=\"configuration\",result=\"failed\"} 1\n"),
            "{text}"
        );
        seen.check(&metrics, || Ok(7), |_| Ok(true));
        assert!(
            metrics
                .text()
                .contains("reload_failing{source=\"configuration\"} 0\n")
        );
        seen.check(&metrics, || panic!("planted"), |_| Ok(true));
        assert!(
            metrics
                .text()
                .contains("reload_failing{source=\"configuration\"} 1\n")
        );
    }
}
