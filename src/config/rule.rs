//! What Kubernetes and the agent demand of a string or a number, beyond its type.

use crate::config::go_regexp;
use crate::config::violation::Violation;
use serde_json::{Map, Value as Json};

/// The demand on a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A TCP port.
    Port,
    /// At least one.
    Positive,
    /// The name of a Secret, ConfigMap or other object: a DNS subdomain.
    ObjectName,
    /// The name of a namespace: a DNS label.
    Namespace,
    /// A key in a Secret or ConfigMap, which becomes a file's name.
    DataKey,
    /// A container image.
    Image,
    /// What the agent reads its configuration from.
    ConfigLocation,
    /// An HTTP URL.
    HttpUrl,
    /// A regular expression of Go.
    GoRegexp,
    /// The full name of a label or annotation: `[prefix/]name`.
    MetadataName,
    /// A label's value.
    LabelValue,
    /// An API group; `""` is the core group.
    Group,
    /// A kind.
    Kind,
}

impl Rule {
    /// Complains about what breaks the rule.
    pub(crate) fn test(self, text: &str) -> Result<(), Violation> {
        let holds = match self {
            // The empty pattern would match every container.
            Rule::GoRegexp if text.is_empty() => false,
            Rule::GoRegexp => return go_regexp::check(text).map_err(|why| no_regexp(text, &why)),
            Rule::Port => text.parse::<u16>().is_ok_and(|port| port > 0),
            Rule::Positive => text.parse::<u32>().is_ok_and(|number| number > 0),
            Rule::ObjectName => is_subdomain(text),
            Rule::Namespace => is_label(text),
            Rule::DataKey => {
                within(text, 253) && text.bytes().all(|byte| is_word(byte, b"-._")) && !matches!(text, "." | "..")
            }
            Rule::Image => {
                within(text, 1000)
                    && text.bytes().all(|byte| byte.is_ascii_graphic())
                    && !text.starts_with(['/', ':', '@'])
            }
            Rule::ConfigLocation => {
                ["http://", "https://", "s3://", "file:///", "/"].iter().any(|start| text.starts_with(start))
                    && is_unbroken(text)
            }
            Rule::HttpUrl => {
                let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
                rest.is_some_and(|host| !host.is_empty() && !host.starts_with('/')) && is_unbroken(text)
            }
            Rule::MetadataName => match text.split_once('/') {
                Some((prefix, name)) => is_subdomain(prefix) && is_qualified(name),
                None => is_qualified(text),
            },
            Rule::LabelValue => text.is_empty() || is_qualified(text),
            Rule::Group => text.is_empty() || is_subdomain(text),
            Rule::Kind => {
                within(text, 63)
                    && text.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        };
        if holds { Ok(()) } else { Err(self.violation(text)) }
    }

    fn violation(self, text: &str) -> Violation {
        if text.is_empty() {
            return Violation::new("must not be empty");
        }
        let (must_be, help) = match self {
            Rule::Port => ("a port from 1 to 65535", None),
            Rule::Positive => ("at least 1", None),
            Rule::ObjectName => (
                "the name of a Kubernetes object",
                Some("lower-case letters, digits, `-` and `.`, at most 253; a letter or digit at both ends"),
            ),
            Rule::Namespace => (
                "the name of a namespace",
                Some("lower-case letters, digits and `-`, at most 63; a letter or digit at both ends"),
            ),
            Rule::DataKey => ("a key of a Secret or ConfigMap", Some("letters, digits, `-`, `_` and `.`, at most 253")),
            Rule::Image => {
                ("a container image", Some("write for example `registry.example.com/agent:v1`, without blanks"))
            }
            Rule::ConfigLocation => (
                "where the agent finds its configuration",
                Some("write a URL that begins with `https://`, `http://` or `s3://`, or an absolute path"),
            ),
            Rule::HttpUrl => ("an HTTP URL", Some("write for example `https://api.mackerelio.com/`")),
            Rule::GoRegexp => ("a Go regular expression", None),
            Rule::MetadataName => (
                "the name of a label or annotation",
                Some("write `prefix/name` or `name`: letters, digits, `-`, `_` and `.`, the name at most 63"),
            ),
            Rule::LabelValue => (
                "a label's value",
                Some("letters, digits, `-`, `_` and `.`, at most 63; a letter or digit at both ends"),
            ),
            Rule::Group => ("an API group", Some("write it without version, such as `apps`; the core group is `\"\"`")),
            Rule::Kind => ("a kind", Some("write it as in the manifest, such as `Deployment`")),
        };
        let violation = Violation::new(format!("must be {must_be}, found `{}`", shown(text)));
        match help {
            Some(help) => violation.with_help(help),
            None => violation,
        }
    }

    /// The rule in the words of JSON Schema, added to a type's schema.
    pub(crate) fn describe(self, schema: &mut Map<String, Json>) {
        let mut pattern = |pattern: &str| schema.insert("pattern".to_owned(), pattern.into());
        match self {
            Rule::Port | Rule::Positive => {
                schema.insert("minimum".to_owned(), 1.into());
                None
            }
            Rule::GoRegexp => None,
            Rule::ObjectName => pattern("^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$"),
            Rule::Namespace => pattern("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$"),
            Rule::DataKey => pattern("^[A-Za-z0-9._-]{1,253}$"),
            Rule::Image => pattern("^([^/:@\\s]\\S*)?$"),
            Rule::ConfigLocation => pattern("^((https?://|s3://|file:///|/)\\S*)?$"),
            Rule::HttpUrl => pattern("^(https?://[^/\\s]\\S*)?$"),
            Rule::MetadataName => pattern("^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"),
            Rule::LabelValue => pattern("^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"),
            Rule::Group => pattern("^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$"),
            Rule::Kind => pattern("^[A-Z][A-Za-z0-9]{0,62}$"),
        };
    }
}

/// As much of a value as a message bears.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn no_regexp(text: &str, why: &str) -> Violation {
    let violation = Violation::new(format!("must be a Go regular expression, found `{}`: {why}", shown(text)));
    violation.with_help("the syntax: https://pkg.go.dev/regexp/syntax")
}

fn within(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len())
}

fn is_word(byte: u8, further: &[u8]) -> bool {
    byte.is_ascii_alphanumeric() || further.contains(&byte)
}

fn is_unbroken(text: &str) -> bool {
    !text.chars().any(|character| character.is_whitespace() || character.is_control())
}

fn is_edge(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

fn is_label(text: &str) -> bool {
    within(text, 63)
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && is_edge(text.bytes().next())
        && is_edge(text.bytes().last())
}

fn is_subdomain(text: &str) -> bool {
    // Kubernetes limits the whole, not each label.
    let is_part = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && is_edge(part.bytes().next())
            && is_edge(part.bytes().last())
    };
    within(text, 253) && text.split('.').all(is_part)
}

fn is_qualified(text: &str) -> bool {
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    within(text, 63)
        && text.bytes().all(|byte| is_word(byte, b"-._"))
        && is_edge(text.bytes().next())
        && is_edge(text.bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_kubernetes_allows_them() {
        let long = "a".repeat(64);
        let cases: &[(Rule, &[&str], &[&str])] = &[
            (Rule::Port, &["1", "65535"], &["0", "65536", "-1", ""]),
            (Rule::Positive, &["1"], &["0"]),
            (Rule::ObjectName, &["a", "a.b-c", &long], &["", "A", "a_b", "-a", "a-", "a..b", ".a", "a b"]),
            (Rule::Namespace, &["kube-system", "a1"], &["", "a.b", "Kube", "-a", &long]),
            (Rule::DataKey, &["MACKEREL_APIKEY", "a.conf"], &["", ".", "..", "a/b", "a b"]),
            (Rule::Image, &["a", "r.io:5000/a/b:c@sha256:00"], &["", "a b", ":v1", "/a", "a\nb"]),
            (
                Rule::ConfigLocation,
                &["https://x/y", "s3://b/k", "/etc/a.conf"],
                &["", "x.conf", "ftp://x", "https://a b"],
            ),
            (
                Rule::HttpUrl,
                &["https://api.mackerelio.com/", "http://x"],
                &["", "api.mackerelio.com", "https://", "https:///x"],
            ),
            (Rule::GoRegexp, &["^istio-proxy$"], &["", "*", "(?=a)"]),
            (Rule::MetadataName, &["a", "com.baeldung/wait-for-it"], &["", "a/b/c", "/a", "a/", "A/b", &long]),
            (Rule::LabelValue, &["", "web", "v1.2_3"], &["-a", "a b", &long]),
            (Rule::Group, &["", "apps", "argoproj.io"], &["apps/v1", "Apps"]),
            (Rule::Kind, &["Deployment"], &["", "deployment", "apps/Deployment"]),
        ];
        for (rule, good, bad) in cases {
            for text in *good {
                assert_eq!(rule.test(text), Ok(()), "{rule:?} {text}");
            }
            for text in *bad {
                assert!(rule.test(text).is_err(), "{rule:?} {text}");
            }
        }
    }
}
