//! Certificates of the test cluster: an authority, and what it signs.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};

/// An authority of its own, for clients and servers.
pub(crate) struct Authority {
    /// The authority's certificate.
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM texts.
pub(crate) struct Signed {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(common_name: &str) -> Self {
        let mut params = params("", common_name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// A certificate for a user of the API server, or for a server with these names and addresses.
    pub(crate) fn sign(&self, organization: &str, common_name: &str, names: &[&str]) -> Signed {
        let mut params = params(organization, common_name, names);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Signed {
            certificate,
            key: key.serialize_pem(),
        }
    }
}

fn params(organization: &str, common_name: &str, names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>(),
    )
    .unwrap();
    params.distinguished_name = DistinguishedName::new();
    if !organization.is_empty() {
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
    }
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params
}
