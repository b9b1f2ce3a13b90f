//! Constraints of Kubernetes and the agent on strings and numbers, beyond their type.

use crate::config::go_regexp;
use crate::config::violation::Violation;
use serde_json::{Map, Value as Json};

/// A constraint on a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constraint {
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
    /// A URL or path from which the agent reads its configuration.
    ConfigLocation,
    /// The URL of an HTTP API. The agent drops a path.
    ApiUrl,
    /// The lifetime of a ServiceAccount's token, in seconds.
    TokenLifetime,
    /// A Go regular expression.
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

impl Constraint {
    /// Checks a value against the constraint.
    pub(crate) fn check(self, text: &str) -> Result<(), Violation> {
        let holds = match self {
            // The empty pattern would match every container.
            Constraint::GoRegexp if text.is_empty() => false,
            Constraint::GoRegexp => {
                return go_regexp::check(text).map_err(|why| no_regexp(text, &why));
            }
            Constraint::Port => text.parse::<u16>().is_ok_and(|port| port > 0),
            Constraint::Positive => text.parse::<u32>().is_ok_and(|number| number > 0),
            Constraint::ObjectName => is_subdomain(text),
            Constraint::Namespace => is_label(text),
            Constraint::DataKey => {
                within(text, 253)
                    && text.bytes().all(|byte| is_word(byte, b"-._"))
                    && !matches!(text, "." | "..")
            }
            Constraint::Image => {
                within(text, 1000)
                    && text.bytes().all(|byte| byte.is_ascii_graphic())
                    && !text.starts_with(['/', ':', '@'])
            }
            Constraint::ConfigLocation => {
                ["http://", "https://", "s3://", "file:///", "/"]
                    .iter()
                    .any(|start| text.starts_with(start))
                    && is_unbroken(text)
            }
            Constraint::ApiUrl => {
                let rest = text
                    .strip_prefix("https://")
                    .or_else(|| text.strip_prefix("http://"));
                let host = rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
                host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#']))
                    && is_unbroken(text)
            }
            // The API server refuses less.
            Constraint::TokenLifetime => text.parse::<u32>().is_ok_and(|seconds| seconds >= 600),
            Constraint::MetadataName => match text.split_once('/') {
                Some((prefix, name)) => is_subdomain(prefix) && is_qualified(name),
                None => is_qualified(text),
            },
            Constraint::LabelValue => text.is_empty() || is_qualified(text),
            Constraint::Group => text.is_empty() || is_subdomain(text),
            Constraint::Kind => {
                within(text, 63)
                    && text
                        .bytes()
                        .next()
                        .is_some_and(|byte| byte.is_ascii_uppercase())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        };
        if holds {
            Ok(())
        } else {
            Err(self.violation(text))
        }
    }

    fn violation(self, text: &str) -> Violation {
        if text.is_empty() {
            return Violation::new("must not be empty");
        }
        let (must_be, help) = match self {
            Constraint::Port => ("a port from 1 to 65535", None),
            Constraint::Positive => ("at least 1", None),
            Constraint::ObjectName => (
                "the name of a Kubernetes object",
                Some(
                    "lower-case letters, digits, `-` and `.`, at most 253; a letter or digit at both ends",
                ),
            ),
            Constraint::Namespace => (
                "the name of a namespace",
                Some(
                    "lower-case letters, digits and `-`, at most 63; a letter or digit at both ends",
                ),
            ),
            Constraint::DataKey => (
                "a key of a Secret or ConfigMap",
                Some("letters, digits, `-`, `_` and `.`, at most 253"),
            ),
            Constraint::Image => (
                "a container image",
                Some("for example `registry.example.com/agent:v1`, without spaces"),
            ),
            Constraint::ConfigLocation => (
                "a location of the agent configuration",
                Some(
                    "use a URL that begins with `https://`, `http://` or `s3://`, or an absolute path",
                ),
            ),
            Constraint::ApiUrl => (
                "an HTTP URL without a path",
                Some("for example `https://api.mackerelio.com/`; the agent ignores a path"),
            ),
            Constraint::TokenLifetime => (
                "at least 600",
                Some("Kubernetes does not issue tokens for less than 10 minutes"),
            ),
            Constraint::GoRegexp => ("a Go regular expression", None),
            Constraint::MetadataName => (
                "the name of a label or annotation",
                Some(
                    "use `prefix/name` or `name`: letters, digits, `-`, `_` and `.`, the name at most 63",
                ),
            ),
            Constraint::LabelValue => (
                "a label's value",
                Some(
                    "letters, digits, `-`, `_` and `.`, at most 63; a letter or digit at both ends",
                ),
            ),
            Constraint::Group => (
                "an API group",
                Some("use it without a version, such as `apps`; the core group is `\"\"`"),
            ),
            Constraint::Kind => (
                "a kind",
                Some("use the kind as in the manifest, such as `Deployment`"),
            ),
        };
        let violation = Violation::new(format!("must be {must_be}, found `{}`", shown(text)));
        match help {
            Some(help) => violation.with_help(help),
            None => violation,
        }
    }

    /// Adds the constraint to a JSON Schema.
    pub(crate) fn describe(self, schema: &mut Map<String, Json>) {
        let mut pattern = |pattern: &str| schema.insert("pattern".to_owned(), pattern.into());
        match self {
            Constraint::Port | Constraint::Positive => {
                schema.insert("minimum".to_owned(), 1.into());
                None
            }
            Constraint::GoRegexp => None,
            Constraint::ObjectName => pattern("^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$"),
            Constraint::Namespace => pattern("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$"),
            Constraint::DataKey => pattern("^[A-Za-z0-9._-]{1,253}$"),
            Constraint::Image => pattern("^([^/:@\\s]\\S*)?$"),
            Constraint::ConfigLocation => pattern("^((https?://|s3://|file:///|/)\\S*)?$"),
            Constraint::ApiUrl => pattern("^(https?://[^/?#\\s]+/?)?$"),
            Constraint::TokenLifetime => {
                schema.insert("minimum".to_owned(), 600.into());
                None
            }
            Constraint::MetadataName => {
                pattern("^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")
            }
            Constraint::LabelValue => pattern("^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"),
            Constraint::Group => pattern("^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$"),
            Constraint::Kind => pattern("^[A-Z][A-Za-z0-9]{0,62}$"),
        };
    }
}

/// Shortens a value for a message.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn no_regexp(text: &str, why: &str) -> Violation {
    let violation = Violation::new(format!(
        "must be a Go regular expression, found `{}`: {why}",
        shown(text)
    ));
    violation.with_help("for the syntax, see https://pkg.go.dev/regexp/syntax")
}

fn within(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len())
}

fn is_word(byte: u8, further: &[u8]) -> bool {
    byte.is_ascii_alphanumeric() || further.contains(&byte)
}

fn is_unbroken(text: &str) -> bool {
    !text
        .chars()
        .any(|character| character.is_whitespace() || character.is_control())
}

fn has_alphanumeric_ends(text: &str) -> bool {
    let is_alphanumeric = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    is_alphanumeric(text.bytes().next()) && is_alphanumeric(text.bytes().last())
}

fn is_label(text: &str) -> bool {
    within(text, 63) && is_subdomain(text) && !text.contains('.')
}

fn is_subdomain(text: &str) -> bool {
    // Kubernetes limits the length of the whole, not of each label.
    let is_lower = |byte: u8| is_word(byte, b"-") && !byte.is_ascii_uppercase();
    within(text, 253)
        && text
            .split('.')
            .all(|part| part.bytes().all(is_lower) && has_alphanumeric_ends(part))
}

fn is_qualified(text: &str) -> bool {
    within(text, 63)
        && text.bytes().all(|byte| is_word(byte, b"-._"))
        && has_alphanumeric_ends(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_kubernetes_allows_them() {
        let long = "a".repeat(64);
        let cases: &[(Constraint, &[&str], &[&str])] = &[
            (Constraint::Port, &["1", "65535"], &["0", "65536", "-1", ""]),
            (Constraint::Positive, &["1"], &["0"]),
            (
                Constraint::ObjectName,
                &["a", "a.b-c", &long],
                &["", "A", "a_b", "-a", "a-", "a..b", ".a", "a b"],
            ),
            (
                Constraint::Namespace,
                &["kube-system", "a1"],
                &["", "a.b", "Kube", "-a", &long],
            ),
            (
                Constraint::DataKey,
                &["MACKEREL_APIKEY", "a.conf"],
                &["", ".", "..", "a/b", "a b"],
            ),
            (
                Constraint::Image,
                &["a", "r.io:5000/a/b:c@sha256:00"],
                &["", "a b", ":v1", "/a", "a\nb"],
            ),
            (
                Constraint::ConfigLocation,
                &["https://x/y", "s3://b/k", "/etc/a.conf"],
                &["", "x.conf", "ftp://x", "https://a b"],
            ),
            (
                Constraint::ApiUrl,
                &[
                    "https://api.mackerelio.com/",
                    "http://x",
                    "http://[::1]:8080",
                ],
                &[
                    "",
                    "api.mackerelio.com",
                    "https://",
                    "https:///x",
                    "https://x/api",
                    "https://x/?a",
                ],
            ),
            (
                Constraint::GoRegexp,
                &["^istio-proxy$"],
                &["", "*", "(?=a)"],
            ),
            (
                Constraint::MetadataName,
                &["a", "com.baeldung/wait-for-it"],
                &["", "a/b/c", "/a", "a/", "A/b", &long],
            ),
            (
                Constraint::LabelValue,
                &["", "web", "v1.2_3"],
                &["-a", "a b", &long],
            ),
            (
                Constraint::Group,
                &["", "apps", "argoproj.io"],
                &["apps/v1", "Apps"],
            ),
            (
                Constraint::Kind,
                &["Deployment"],
                &["", "deployment", "apps/Deployment"],
            ),
        ];
        for (constraint, good, bad) in cases {
            for text in *good {
                assert_eq!(constraint.check(text), Ok(()), "{constraint:?} {text}");
            }
            for text in *bad {
                assert!(constraint.check(text).is_err(), "{constraint:?} {text}");
            }
        }
    }
}
