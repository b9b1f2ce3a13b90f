//! A certificate of one's own: an authority that issues one certificate, whereupon its key is dropped.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::time::{Duration, SystemTime};
use time::OffsetDateTime;

/// Clocks of API servers may be behind.
const CLOCK_SKEW: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);
/// The key of a Secret with the authority's certificate, as cert-manager writes it.
const AUTHORITY_KEY: &str = "ca.crt";

/// The server of a certificate.
#[derive(Debug, Clone, Copy)]
pub struct CertificateRequest<'a> {
    /// Name of the Service.
    pub service: &'a str,
    /// Namespace of the Service.
    pub namespace: &'a str,
    /// Days for which the certificate is valid.
    pub days: u32,
    pub now: SystemTime,
}

/// PEM texts.
#[derive(Debug)]
pub struct Issued {
    pub certificate: String,
    pub key: String,
    /// The authority's certificate.
    pub authority: String,
}

/// Makes an authority and has it issue a certificate.
///
/// # Errors
/// Returns the errors of rcgen: the name is no DNS name, or the system has no randomness.
pub fn issue(request: &CertificateRequest<'_>) -> Result<Issued, rcgen::Error> {
    let CertificateRequest {
        service,
        namespace,
        days,
        now,
    } = *request;
    let name = format!("{service}.{namespace}.svc");
    let not_after = OffsetDateTime::from(now) + DAY * days;
    let dated = |common_name: &str, names: Vec<String>| {
        let mut certificate = CertificateParams::new(names)?;
        certificate.distinguished_name = DistinguishedName::new();
        certificate
            .distinguished_name
            .push(DnType::CommonName, common_name);
        (certificate.not_before, certificate.not_after) = ((now - CLOCK_SKEW).into(), not_after);
        Ok::<_, rcgen::Error>(certificate)
    };
    // A common name has at most 64 characters; the names that count are the alternative ones.
    let mut authority = dated("mackerel-agent-injector CA", Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let names = vec![
        name.clone(),
        format!("{name}.cluster.local"),
        format!("{service}.{namespace}"),
    ];
    let mut server = dated("mackerel-agent-injector", names)?;
    server.use_authority_key_identifier_extension = true;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];

    let (authority_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let authority_certificate = authority.self_signed(&authority_key)?;
    let certificate = server.signed_by(&key, &Issuer::from_params(&authority, &authority_key))?;
    Ok(Issued {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
        authority: authority_certificate.pem(),
    })
}

/// Writes a Secret for the server, and the `caBundle` of its webhook configuration: the new authority, then those of before.
///
/// # Errors
/// Fails if the Secret cannot be written as YAML.
pub fn manifest(
    request: &CertificateRequest<'_>,
    issued: Issued,
    old: &str,
) -> anyhow::Result<String> {
    let CertificateRequest {
        service, namespace, ..
    } = *request;
    let bundle = ByteString([&*issued.authority, old].concat().into_bytes());
    let data = [
        (AUTHORITY_KEY, bundle.clone()),
        ("tls.crt", ByteString(issued.certificate.into_bytes())),
        ("tls.key", ByteString(issued.key.into_bytes())),
    ];
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(format!("{service}-tls")),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(data.map(|(key, value)| (key.to_owned(), value)).into()),
        ..Secret::default()
    };
    Ok(format!(
        "{}# For each webhook of the webhook configuration, as {AUTHORITY_KEY} above:\n# caBundle: {}\n",
        serde_yaml::to_string(&secret)?,
        serde_json::to_value(&bundle)?.as_str().unwrap_or_default()
    ))
}
