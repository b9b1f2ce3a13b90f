//! `webhook`: the admission server, and a certificate for it.

use crate::cli::args::{Common, LOG_FILE_VARIABLE, WebhookArgs, WebhookCommand};
use crate::cli::messages::Messages;
use crate::cli::{configuration, stdout};
use anyhow::Context as _;
use config::ConfigReader;
use std::fs;
use std::path::Path;
use std::time::SystemTime;
use webhook::issue::{CertificateRequest, issue, manifest};
use webhook::{CertificateFiles, ConfigurationFile, Settings, check_authorities, log, serve};

/// Checks that the server is given no log file.
///
/// # Errors
/// If it is: all of its log goes to stderr.
pub fn check_log_file(arguments: &WebhookArgs, log_file: Option<&Path>) -> anyhow::Result<()> {
    if arguments.command.is_none() && log_file.is_some() {
        anyhow::bail!(
            "`webhook` writes its log to stderr only: omit `--log-file`, and unset {LOG_FILE_VARIABLE}"
        );
    }
    Ok(())
}

/// Runs the server, or prints a certificate.
pub fn run(arguments: WebhookArgs, common: &Common, messages: &mut Messages) -> anyhow::Result<()> {
    if let Some(command) = arguments.command {
        return print_certificate(command, common.namespace.as_deref());
    }
    let (Some(certificate), Some(key)) = (arguments.tls_cert, arguments.tls_key) else {
        anyhow::bail!(
            "the API server calls webhooks over TLS: add `--tls-cert FILE` and `--tls-key FILE`"
        );
    };
    let config = configuration::of_file(None, ConfigReader::Webhook, common, messages)?;
    let configuration_file = configuration::file(common).map(|path| ConfigurationFile {
        path,
        set: common.set.clone(),
        namespace: common.namespace.clone(),
    });
    // The log is flushed when the guard is dropped.
    let _log_guard = log::init(arguments.log_format);
    serve(Settings {
        listen: arguments.listen,
        metrics_listen: arguments.metrics_listen,
        certificate_files: CertificateFiles {
            certificate,
            key,
            server_name: arguments.server_name,
            client_ca: arguments.client_ca,
        },
        config,
        configuration_file,
        drain: arguments.drain,
    })?;
    Ok(())
}

/// `webhook certificate`
fn print_certificate(command: WebhookCommand, namespace: Option<&str>) -> anyhow::Result<()> {
    let WebhookCommand::Certificate {
        service,
        days,
        ca_bundle,
    } = command;
    let Some(namespace) = namespace else {
        anyhow::bail!(
            "`webhook certificate` requires the namespace of the Service: add `--namespace NS`"
        );
    };
    for (name, kind) in [(&*service, "a Service"), (namespace, "a namespace")] {
        if !is_dns_label(name) {
            anyhow::bail!(
                "invalid name of {kind} '{name}': expected at most 63 lower-case letters, digits and `-`"
            );
        }
    }
    let request = CertificateRequest {
        service: &service,
        namespace,
        days,
        now: SystemTime::now(),
    };
    let issued = issue(&request).context("cannot generate a certificate")?;
    let earlier = match ca_bundle {
        Some(path) => authorities(&path).with_context(|| path.display().to_string())?,
        None => String::new(),
    };
    stdout::write([&*manifest(&request, issued, &earlier)?])?;
    Ok(())
}

/// Reads the CAs of a PEM file.
fn authorities(path: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(path)?;
    check_authorities(&text)?;
    Ok(text)
}

/// Returns true for a DNS label, which the names of Services and namespaces must be.
fn is_dns_label(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.starts_with('-')
        && !name.ends_with('-')
}
