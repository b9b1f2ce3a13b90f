//! The canonical form of injected values, to tell a manual change from a reprint: key order, style, the API server's defaults and
//! the spelling of quantities do not count. Names that other tools rightly change are compared one by one.

use crate::agent::replaceable_names::{ReplaceableName, ReplaceableNames, take_names};
use mackerel::names::TOKEN_FOLDER;
use manifest::nanos;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A short fingerprint. It is no protection against forgery: a user who can edit the manifest can edit the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(u32);

impl Digest {
    pub fn of(text: &str) -> Self {
        Fnv::default().with(text.as_bytes()).folded()
    }

    /// Returns the digest of a value's JSON.
    pub(crate) fn of_json(value: &impl Serialize) -> Self {
        let mut hash = Fnv::default();
        // The keys are text, and a hash takes any bytes.
        let _ = serde_json::to_writer(&mut hash, value);
        hash.folded()
    }
}

/// FNV-1a (64 bits) of what is written.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn with(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    /// Folds it to 32 bits, as its authors recommend for shorter values.
    #[allow(clippy::cast_possible_truncation, reason = "folding is the point")]
    fn folded(self) -> Digest {
        Digest((self.0 >> 32) as u32 ^ self.0 as u32)
    }
}

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self = self.with(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match u32::from_str_radix(&text, 16) {
            Ok(hash) if text.len() == 8 => Ok(Self(hash)),
            _ => Err(format!("`{text}` is no digest")),
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// True for a value that the API server fills in by default.
fn is_default(context: FieldContext, field: &str, value: &Value) -> bool {
    match (field, value) {
        ("terminationMessagePath", Value::String(path)) => path == "/dev/termination-log",
        ("terminationMessagePolicy", Value::String(policy)) => policy == "File",
        ("apiVersion", Value::String(version)) => version == "v1",
        ("defaultMode", Value::Number(mode)) => mode.as_u64() == Some(0o644),
        // The API server replaces 0 in a probe by its default.
        ("initialDelaySeconds", Value::Number(seconds)) => seconds.as_u64() == Some(0),
        ("timeoutSeconds" | "successThreshold", Value::Number(number)) => {
            matches!(number.as_u64(), Some(0 | 1))
        }
        ("periodSeconds", Value::Number(seconds)) => matches!(seconds.as_u64(), Some(0 | 10)),
        ("failureThreshold", Value::Number(times)) => matches!(times.as_u64(), Some(0 | 3)),
        ("scheme", Value::String(scheme)) => scheme == "HTTP",
        ("path", Value::String(path)) => path == "/" && context == FieldContext::HttpGet,
        ("divisor", Value::String(divisor)) => divisor == "0",
        // The default follows the tag of the volume's image.
        ("pullPolicy", Value::String(policy)) => policy != "Never",
        ("readOnly" | "optional", Value::Bool(set)) => !set,
        _ => false,
    }
}

/// Returns the canonical form: without defaults and empty values, quantities by value, keys sorted.
pub fn canonicalize(value: &Value) -> Value {
    canonical(value.clone())
}

fn canonical(value: Value) -> Value {
    canonical_at(value, FieldContext::Other).unwrap_or(Value::Null)
}

#[derive(Clone, Copy, PartialEq)]
enum FieldContext {
    Other,
    /// Below `resources.limits` and `resources.requests`: every value is a quantity.
    Quantities,
    /// A quantity itself.
    Quantity,
    /// The items of `volumeMounts`.
    Mounts,
    /// A request of a probe or hook.
    HttpGet,
}

/// True for the mount of the ServiceAccount's token that the API server adds to every container of a Pod.
fn is_token_mount(mount: &Value) -> bool {
    let text = |key: &str| mount.get(key).and_then(Value::as_str).unwrap_or_default();
    text("mountPath") == TOKEN_FOLDER && text("name").starts_with("kube-api-access-")
}

fn canonical_at(value: Value, context: FieldContext) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let mut fields: Map<String, Value> = fields
                .into_iter()
                .filter_map(|(key, field)| {
                    let field = canonical_at(field, context_of(context, &key))?;
                    (!is_default(context, &key, &field)).then_some((key, field))
                })
                .collect();
            fields.sort_keys();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Array(items) => {
            let added = |item: &Value| context == FieldContext::Mounts && is_token_mount(item);
            let items: Vec<Value> = items
                .into_iter()
                .filter(|item| !added(item))
                .map(canonical)
                .collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::String(text) if context == FieldContext::Quantity => {
            Some(Value::String(by_value(&text).unwrap_or(text)))
        }
        Value::Number(number) if context == FieldContext::Quantity => {
            by_value(&number.to_string()).map(Value::String)
        }
        Value::String(text) if text.is_empty() => None,
        scalar => Some(scalar),
    }
}

fn context_of(above: FieldContext, key: &str) -> FieldContext {
    match key {
        _ if above == FieldContext::Quantities => FieldContext::Quantity,
        "limits" | "requests" => FieldContext::Quantities,
        "sizeLimit" | "divisor" => FieldContext::Quantity,
        "volumeMounts" => FieldContext::Mounts,
        "httpGet" => FieldContext::HttpGet,
        _ => FieldContext::Other,
    }
}

/// `0.5` and `500m` -> `5e-1`
fn by_value(quantity: &str) -> Option<String> {
    let mut value = nanos(quantity)?;
    if value == 0 {
        return Some("0".to_owned());
    }
    let mut ten = -9;
    while value % 10 == 0 {
        value /= 10;
        ten += 1;
    }
    Some(format!("{value}e{ten}"))
}

/// Returns a container and its volumes as a list.
fn list(container: Value, volumes: Vec<Value>) -> Value {
    std::iter::once(container)
        .chain(volumes)
        .map(canonical)
        .collect()
}

/// A container and its volumes in canonical form.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CanonicalForm {
    /// The container and the volumes as a list, without the names below.
    pub value: Value,
    /// The digest of the value, which a record has.
    pub digest: Digest,
    /// The digest with the references in the value, which a record without references has.
    pub digest_with_references: Digest,
    pub names: ReplaceableNames,
}

impl CanonicalForm {
    pub fn of(mut container: Value, mut volumes: Vec<Value>) -> Self {
        let is_reference = ReplaceableName::is_reference;
        let mut has_references = false;
        let mut names = take_names(&mut container, &mut volumes, |name| {
            has_references |= is_reference(name);
            !is_reference(name)
        });
        let with_references = has_references.then(|| list(container.clone(), volumes.clone()));
        if has_references {
            names.extend(take_names(&mut container, &mut volumes, is_reference));
        }
        let value = list(container, volumes);
        let digest = Digest::of_json(&value);
        Self {
            value,
            digest,
            digest_with_references: with_references.map_or(digest, |with| Digest::of_json(&with)),
            names,
        }
    }

    pub fn name_digests(&self) -> BTreeMap<ReplaceableName, Digest> {
        self.names
            .iter()
            .map(|(name, text)| (name.clone(), Digest::of(text)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, by_value, canonicalize};
    use serde_json::json;

    #[test]
    fn quantities_are_equal_by_value() {
        for (a, b) in [
            ("0.5", "500m"),
            ("64Mi", "65536Ki"),
            ("1e3", "1k"),
            ("1", "1000m"),
            ("1Gi", "1073741824"),
            ("0", "0Mi"),
        ] {
            assert_eq!(by_value(a), by_value(b), "{a} and {b}");
        }
        assert_ne!(by_value("64Mi"), by_value("64M"));
        // Fingerprints in records rest on this spelling.
        assert_eq!(by_value("0.50").as_deref(), Some("5e-1"));
        assert_eq!(by_value("64Mi").as_deref(), Some("67108864e0"));
        assert_eq!(by_value("many"), None);
    }

    #[test]
    fn what_the_api_server_adds_does_not_count() {
        let existing = json!({"name": "a", "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"limits": {"cpu": "0.1"}}});
        let theirs = json!({"resources": {"limits": {"cpu": "100m"}}, "terminationMessagePath": "/dev/termination-log",
            "env": [{"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}, "name": "N"}], "name": "a"});
        assert_eq!(
            canonicalize(&existing).to_string(),
            canonicalize(&theirs).to_string()
        );
        let in_a_pod = json!({"name": "a", "volumeMounts": [{"name": "kube-api-access-x7k2p", "readOnly": true,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]});
        assert_eq!(canonicalize(&in_a_pod), json!({"name": "a"}));
        let of_a_user = json!({"name": "a", "volumeMounts": [{"name": "kube-api-access-x7k2p", "mountPath": "/token"}]});
        assert_eq!(canonicalize(&of_a_user), of_a_user);
        let image = json!({"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}});
        assert_eq!(canonicalize(&image), json!({"image": {"reference": "a:1"}}));
        let probe = json!({"httpGet": {"path": "/", "port": 80}});
        assert_eq!(canonicalize(&probe), json!({"httpGet": {"port": 80}}));
        let of_the_node = json!({"name": "a", "hostPath": {"path": "/"}});
        assert_eq!(canonicalize(&of_the_node), of_the_node);
        let edited = json!({"name": "a", "env": [], "resources": {"limits": {"cpu": "100m"}}});
        assert_ne!(
            canonicalize(&existing).to_string(),
            canonicalize(&edited).to_string()
        );
    }

    #[test]
    fn digests_are_stable() {
        assert_eq!(Digest::of("").to_string(), "4fd0bfc1");
        assert_eq!(Digest::try_from("4fd0bfc1".to_owned()), Ok(Digest::of("")));
        assert!(Digest::try_from("4fd0bfc".to_owned()).is_err());
    }
}
