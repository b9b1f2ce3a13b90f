//! Constraints of Kubernetes and the agent on strings and numbers, beyond their type.

use crate::config::go_regexp;
use crate::config::violation::Violation;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use serde_json::{Map, Value as Json};
use std::sync::OnceLock;

macro_rules! subdomain {
    () => {
        r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
    };
}

macro_rules! qualified {
    () => {
        "[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
    };
}

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
            // The API server refuses less.
            Constraint::TokenLifetime => text.parse::<u32>().is_ok_and(|seconds| seconds >= 600),
            Constraint::ObjectName | Constraint::DataKey | Constraint::Group
                if text.len() > 253 =>
            {
                false
            }
            _ => self.matches(text),
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
                Some("for example `registry.example.com/agent:v1`, without `https://` and spaces"),
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

    /// Adds the constraint to a JSON Schema. Empty text unsets a setting.
    pub(crate) fn describe(self, schema: &mut Map<String, Json>) {
        let pattern = self.pattern();
        let (keyword, value): (_, Json) = match self {
            Constraint::GoRegexp => return,
            Constraint::Port | Constraint::Positive => ("minimum", 1.into()),
            Constraint::TokenLifetime => ("minimum", 600.into()),
            Constraint::DataKey | Constraint::MetadataName | Constraint::Kind => {
                ("pattern", format!("^{pattern}$").into())
            }
            _ => ("pattern", format!("^({pattern})?$").into()),
        };
        schema.insert(keyword.to_owned(), value);
    }

    /// Returns the pattern of the whole text; it matches everything if there is none.
    pub(crate) fn pattern(self) -> &'static str {
        match self {
            Constraint::Port
            | Constraint::Positive
            | Constraint::TokenLifetime
            | Constraint::GoRegexp => ".*",
            Constraint::ObjectName => subdomain!(),
            Constraint::Namespace => "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
            Constraint::DataKey => r"\.?[A-Za-z0-9_-][A-Za-z0-9._-]*",
            // Registry, path, tag and digest; or with a placeholder, which a later tool replaces.
            Constraint::Image => concat!(
                r"(([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(:[0-9]+)?/)?",
                r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)*",
                r"(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@[A-Za-z0-9+._-]+:[0-9A-Fa-f]+)?",
                r"|[!-~]*(\$|#\{|__[A-Z])[!-~]*",
            ),
            Constraint::ConfigLocation => r"(https?://|s3://|file:///|/)[^\x00-\x20\x7f]*",
            Constraint::ApiUrl => r"https?://[^/?#\x00-\x20\x7f]+/?",
            Constraint::MetadataName => concat!("(", subdomain!(), "/)?", qualified!()),
            Constraint::LabelValue => concat!("(", qualified!(), ")?"),
            Constraint::Group => concat!("(", subdomain!(), ")?"),
            Constraint::Kind => "[A-Z][A-Za-z0-9]{0,62}",
        }
    }

    fn matches(self, text: &str) -> bool {
        static REGEXES: [OnceLock<Option<PikeVM>>; 14] = [const { OnceLock::new() }; 14];
        let Some(regex) = REGEXES.get(self as usize) else {
            return false;
        };
        let compiled = regex.get_or_init(|| PikeVM::new(&format!("^({})$", self.pattern())).ok());
        compiled
            .as_ref()
            .is_some_and(|regex| regex.is_match(&mut regex.create_cache(), text))
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
                &["MACKEREL_APIKEY", "a.conf", ".a", &"a".repeat(253)],
                &["", ".", "..", "..a", "a/b", "a b", &"a".repeat(254)],
            ),
            (
                Constraint::Image,
                &[
                    "a",
                    "a-b/c__d.e:V1_x.y-z",
                    "r.io:5000/a/b:c@sha256:00",
                    "Registry.example.com/a",
                    "Team/a",
                    "localhost/a",
                    "[::1]:5000/a:1",
                    "a@sha256:0A",
                    "${IMAGE}",
                    "r.io/a:$(TAG)",
                ],
                &[
                    "",
                    "a b",
                    " a",
                    "a ",
                    ":v1",
                    "/a",
                    "a/",
                    "a//b",
                    "a\nb",
                    "a\n",
                    "https://r.io/a:1",
                    "http://r.io/a",
                    "a:",
                    "a:1:2",
                    "a:1,agent.memo=b",
                    "a:.1",
                    "A",
                    "r.io/A",
                    "r.io/Team/a",
                    "r.io:/a",
                    "r.io:x/a",
                    "-r.io/a",
                    "[]/a",
                    "a@",
                    "a@sha256",
                    "a@sha256:",
                    "a@sha256:x",
                    "a@b@sha256:00",
                    "a_",
                    "{{ image }}",
                    "${A} b",
                ],
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
