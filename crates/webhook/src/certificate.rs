//! The serving certificate: PEM files in, a TLS configuration out, and what its dates say.

use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{CertificateError, RootCertStore, ServerConfig};
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use yasna::models::ObjectIdentifier;
use yasna::tags::TAG_UTCTIME;
use yasna::{ASN1Error, ASN1Result, BERReader, Tag};

/// The contents of the certificate's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pem {
    /// Certificates, the server's own first.
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
    /// Certificates of authorities; empty where there is no such file.
    pub authorities: Vec<u8>,
    /// Certificates of the authorities of clients; none if clients need no certificate.
    pub client_ca: Option<Vec<u8>>,
}

/// A certificate with its key, ready to be served.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub tls: Arc<ServerConfig>,
    pub validity: Validity,
    /// The date of the authority that issued it; none where its certificate is not known.
    pub authority: Option<Validity>,
    misnamed: Option<NotValid>,
}

/// Seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub not_before: i64,
    pub not_after: i64,
}

/// Reasons for which a certificate cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("the certificate file is not valid PEM: {0}")]
    Chain(rustls::pki_types::pem::Error),
    #[error("the certificate file has no certificate")]
    NoCertificate,
    #[error(
        "the file has a private key, and the `caBundle` is public; name a file with certificates only"
    )]
    HasKey,
    #[error("the key file is not valid PEM: {0}")]
    Key(rustls::pki_types::pem::Error),
    #[error("the certificate is not X.509: {0}")]
    NotX509(ASN1Error),
    #[error("the key does not match the certificate")]
    OtherKey,
    #[error("{0}")]
    Tls(rustls::Error),
    #[error("the client CA cannot be used: {0}")]
    ClientCa(String),
    #[error("the certificate {0}")]
    NotValid(NotValid),
}

/// A certificate that clients refuse: for another name, or outside its dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotValid {
    /// Its names do not fit the one by which the server is called.
    Misnamed {
        found: Vec<String>,
        wanted: ServerName<'static>,
    },
    /// It expired this many seconds ago.
    Expired(i64),
    /// It becomes valid in this many seconds.
    NotYet(i64),
}

impl fmt::Display for NotValid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotValid::Misnamed { found, wanted } => {
                write!(
                    f,
                    "is for [{}], not for {}",
                    found.join(", "),
                    wanted.to_str()
                )
            }
            NotValid::Expired(seconds) => write!(f, "expired {seconds} s ago"),
            NotValid::NotYet(seconds) => write!(f, "becomes valid in {seconds} s"),
        }
    }
}

impl Validity {
    /// # Errors
    /// [`NotValid`] outside the dates.
    pub fn check(self, now: SystemTime) -> Result<(), NotValid> {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_secs()).unwrap_or(0);
        if now < self.not_before {
            Err(NotValid::NotYet(self.not_before - now))
        } else if now > self.not_after {
            Err(NotValid::Expired(now - self.not_after))
        } else {
            Ok(())
        }
    }
}

impl Certificate {
    /// Reads a certificate and its key, whatever its names and dates. [`Self::check`] looks at these, and for `name` if there is one.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn read(pem: &Pem, name: Option<&ServerName<'static>>) -> Result<Self, Unusable> {
        let chain = CertificateDer::pem_slice_iter(&pem.chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(Unusable::Chain)?;
        let leaf = X509Fields::read(chain.first().ok_or(Unusable::NoCertificate)?)
            .map_err(Unusable::NotX509)?;
        let key = PrivateKeyDer::from_pem_slice(&pem.key).map_err(Unusable::Key)?;
        let authority = CertificateDer::pem_slice_iter(&pem.authorities)
            // The file's other parts may be anything.
            .map_while(Result::ok)
            .chain(chain.iter().skip(1).cloned())
            .filter_map(|known| X509Fields::read(&known).ok())
            .filter(|known| known.subject == leaf.issuer)
            .map(|known| known.validity)
            // After a renewal there are two of one name, and the new one lasts longer.
            .max_by_key(|validity| validity.not_after);
        let misnamed = name.and_then(|name| misnamed(&chain[0], name));
        let clients = match &pem.client_ca {
            Some(client_ca) => verifier(client_ca)?,
            None => WebPkiClientVerifier::no_client_auth(),
        };
        let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Unusable::Tls)?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => Unusable::OtherKey,
                error => Unusable::Tls(error),
            })?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            tls: Arc::new(tls),
            validity: leaf.validity,
            authority,
            misnamed,
        })
    }

    /// # Errors
    /// [`NotValid`] if it has another name, or is outside its dates.
    pub fn check(&self, now: SystemTime) -> Result<(), NotValid> {
        match &self.misnamed {
            Some(misnamed) => Err(misnamed.clone()),
            None => self.validity.check(now),
        }
    }
}

/// Compares the names as clients do: the alternative ones, with their wildcards, and not the common name.
fn misnamed(certificate: &CertificateDer<'_>, name: &ServerName<'static>) -> Option<NotValid> {
    let error = ParsedCertificate::try_from(certificate)
        .and_then(|parsed| verify_server_name(&parsed, name))
        .err()?;
    let found = match error {
        rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented,
            ..
        }) => presented,
        error => vec![error.to_string()],
    };
    Some(NotValid::Misnamed {
        found,
        wanted: name.clone(),
    })
}

/// Returns the verifier of clients that need a certificate of these authorities.
fn verifier(client_ca: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, Unusable> {
    let unusable = |error: &dyn fmt::Display| Unusable::ClientCa(error.to_string());
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(client_ca) {
        roots
            .add(authority.map_err(|error| unusable(&error))?)
            .map_err(|error| unusable(&error))?;
    }
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| unusable(&error))
}

/// Checks that a text in PEM has certificates, nothing else under that name, and no key: everyone may read a `caBundle`.
///
/// # Errors
/// [`Unusable`].
pub fn check_authorities(pem: &str) -> Result<(), Unusable> {
    if pem.contains("PRIVATE KEY") {
        return Err(Unusable::HasKey);
    }
    let authorities = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(Unusable::Chain)?;
    for authority in &authorities {
        X509Fields::read(authority).map_err(Unusable::NotX509)?;
    }
    if authorities.is_empty() {
        return Err(Unusable::NoCertificate);
    }
    Ok(())
}

/// The fields of an X.509 certificate that matter here.
struct X509Fields {
    issuer: Vec<u8>,
    validity: Validity,
    subject: Vec<u8>,
}

impl X509Fields {
    fn read(der: &[u8]) -> ASN1Result<Self> {
        yasna::parse_der(der, |reader| {
            reader.read_sequence(|certificate| {
                let fields = certificate.next().read_sequence(|fields| {
                    // The version.
                    fields.read_optional(|reader| {
                        reader.read_tagged(Tag::context(0), |reader| reader.read_u8())
                    })?;
                    // The serial number; the algorithm of the signature.
                    fields.next().read_der()?;
                    fields.next().read_der()?;
                    let issuer = fields.next().read_der()?;
                    let validity = fields.next().read_sequence(|dates| {
                        Ok(Validity {
                            not_before: seconds(dates.next())?,
                            not_after: seconds(dates.next())?,
                        })
                    })?;
                    let subject = fields.next().read_der()?;
                    while fields.read_optional(|reader| reader.read_der())?.is_some() {}
                    Ok(X509Fields {
                        issuer,
                        validity,
                        subject,
                    })
                })?;
                // The algorithm of the signature again; the signature.
                certificate.next().read_sequence(|algorithm| {
                    let _: ObjectIdentifier = algorithm.next().read_oid()?;
                    algorithm
                        .read_optional(|reader| reader.read_der())
                        .map(drop)
                })?;
                certificate.next().read_der()?;
                Ok(fields)
            })
        })
    }
}

fn seconds(reader: BERReader<'_, '_>) -> ASN1Result<i64> {
    match reader.lookahead_tag()? {
        TAG_UTCTIME => Ok(reader.read_utctime()?.datetime().unix_timestamp()),
        _ => Ok(reader.read_generalized_time()?.datetime().unix_timestamp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::{CertificateRequest, Issued, issue};
    use std::time::Duration;

    fn issued() -> Issued {
        issued_for("injector")
    }

    fn issued_for(service: &str) -> Issued {
        issue(&CertificateRequest {
            service,
            namespace: "mackerel",
            days: 1,
            now: SystemTime::now(),
        })
        .unwrap()
    }

    fn pem(issued: &Issued) -> Pem {
        Pem {
            chain: issued.certificate.clone().into_bytes(),
            key: issued.key.clone().into_bytes(),
            authorities: issued.authority.clone().into_bytes(),
            client_ca: None,
        }
    }

    #[test]
    fn dates_are_those_of_the_certificate_and_of_its_authority() {
        let certificate = Certificate::read(&pem(&issued()), None).unwrap();
        let now = SystemTime::now();
        let day = |days: u64| Duration::from_secs(86_400 * days);
        assert_eq!(certificate.validity.check(now), Ok(()));
        assert!(matches!(
            certificate.validity.check(now + day(2)),
            Err(NotValid::Expired(_))
        ));
        assert!(matches!(
            certificate.validity.check(now - day(2)),
            Err(NotValid::NotYet(_))
        ));
        assert_eq!(
            certificate.authority.unwrap().not_after,
            certificate.validity.not_after
        );
        let alone = Pem {
            authorities: Vec::new(),
            ..pem(&issued())
        };
        assert_eq!(Certificate::read(&alone, None).unwrap().authority, None);
    }

    #[test]
    fn names_fit_as_clients_find_them() {
        for (service, name, fits) in [
            ("injector", "injector.mackerel.svc", true),
            ("injector", "Injector.mackerel.svc.cluster.local", true),
            ("*", "injector.mackerel.svc", true),
            ("other", "injector.mackerel.svc", false),
            ("injector", "injector.mackerel.svc.local", false),
            ("*", "injector.shop.svc", false),
            ("*", "a.injector.mackerel.svc", false),
        ] {
            let wanted = ServerName::try_from(name).unwrap();
            let certificate = Certificate::read(&pem(&issued_for(service)), Some(&wanted)).unwrap();
            assert_eq!(
                certificate.check(SystemTime::now()).is_ok(),
                fits,
                "{service} {name}"
            );
        }
    }

    #[test]
    fn a_certificate_that_cannot_be_served_says_why() {
        let (one, other) = (pem(&issued()), pem(&issued()));
        let error = |pem: Pem| Certificate::read(&pem, None).unwrap_err().to_string();
        assert_eq!(
            error(Pem {
                key: other.key,
                ..one.clone()
            }),
            "the key does not match the certificate"
        );
        assert_eq!(
            error(Pem {
                chain: Vec::new(),
                ..one.clone()
            }),
            "the certificate file has no certificate"
        );
        let half = one.chain[..one.chain.len() / 2].to_vec();
        assert!(
            error(Pem {
                chain: half,
                ..one.clone()
            })
            .starts_with("the certificate file is not valid PEM")
        );
        let no = b"-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n";
        assert!(
            error(Pem {
                chain: no.to_vec(),
                ..one.clone()
            })
            .starts_with("the certificate is not X.509")
        );
        assert!(
            error(Pem {
                key: Vec::new(),
                ..one.clone()
            })
            .starts_with("the key file is not valid PEM")
        );
        for client_ca in [b"".as_slice(), b"-----BEGIN CERTIFICATE-----\n", no] {
            let of_clients = Pem {
                client_ca: Some(client_ca.to_vec()),
                ..one.clone()
            };
            assert!(error(of_clients).starts_with("the client CA cannot be used: "));
        }
    }

    #[test]
    fn every_prefix_and_every_changed_byte_is_read_without_a_panic() {
        let chain = CertificateDer::from_pem_slice(issued().certificate.as_bytes()).unwrap();
        for length in 0..chain.len() {
            assert!(X509Fields::read(&chain[..length]).is_err());
            let mut changed = chain.to_vec();
            changed[length] ^= 0xff;
            let _ = X509Fields::read(&changed);
        }
    }
}
