//! Text and numbers that Kubernetes or the agent restrict beyond their type: the check, its sentence and the schema's pattern.

use crate::go_regexp;
use crate::grammar::{
    is_api_url, is_config_location, is_data_key, is_host_text, is_image, is_kind, is_label,
    is_metadata_name, is_qualified, is_subdomain,
};
#[cfg(test)]
use crate::tests::patterns;
use crate::violation::Violation;
#[cfg(test)]
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::str::FromStr;

/// Reads types from text and writes them as text. The keyword is that of their JSON Schema.
macro_rules! texts {
    ($($Type:ty: $keyword:literal = $value:expr;)*) => {$(
        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(crate::checked::TextVisitor(std::marker::PhantomData))
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $Type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", $keyword: $value})
            }
        }
    )*};
}

pub(crate) use texts;

/// Reads a type from text.
pub struct TextVisitor<T>(pub PhantomData<T>);

impl<T: FromStr<Err = Violation>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse()
            .map_err(|violation: Violation| E::custom(violation.message()))
    }
}

/// Declares text of a form: its words in a message, the help, its length in bytes, and the function that judges it. The schema has
/// a pattern for each.
macro_rules! checked {
    ($($(#[doc = $doc:literal])* $Name:ident: $must_be:literal, $help:literal, $length:expr, $is_of_form:expr;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $Name(String);

        /// A text of this program, which is known to match.
        impl From<&'static str> for $Name {
            fn from(text: &'static str) -> Self {
                Self(text.to_owned())
            }
        }

        impl FromStr for $Name {
            type Err = Violation;

            fn from_str(text: &str) -> Result<Self, Violation> {
                let is_of_form: fn(&str) -> bool = $is_of_form;
                if $length.contains(&text.len()) && is_of_form(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(Violation::found($must_be, text).with_help($help))
            }
        }

        impl Deref for $Name {
            type Target = String;

            fn deref(&self) -> &String {
                &self.0
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        texts! { $Name: "pattern" = patterns::of(stringify!($Name)); }
    )*

        /// The forms by the names of their types.
        #[cfg(test)]
        pub(super) const FORMS: &[(&str, fn(&str) -> bool)] =
            &[$((stringify!($Name), |text| text.parse::<$Name>().is_ok())),*];
    };
}

checked! {
    /// The name of a Secret, ConfigMap or other object: a DNS subdomain.
    ObjectName: "the name of a Kubernetes object",
        "lower-case letters, digits, `-` and `.`, at most 253; a letter or digit at both ends", 1..=253, is_subdomain;
    /// The name of a namespace: a DNS label.
    Namespace: "the name of a namespace",
        "lower-case letters, digits and `-`, at most 63; a letter or digit at both ends", 1..=63, is_label;
    /// A key in a Secret or ConfigMap, which becomes a file's name.
    DataKey: "a key of a Secret or ConfigMap",
        "letters, digits, `-`, `_` and `.`, at most 253", 1..=253, is_data_key;
    /// A container image: registry, path, tag and digest; or with a placeholder, which a later tool replaces.
    Image: "a container image",
        "for example `registry.example.com/agent:v1`, without `https://` and spaces; a digest is `@sha256:` and 64 digits", 1..=1000, is_image;
    /// A URL or path from which the agent reads its configuration.
    ConfigLocation: "a location of the agent configuration",
        "use a URL that begins with `https://`, `http://` or `s3://`, or an absolute path", 1..=4096, is_config_location;
    /// The URL of an HTTP API. The agent drops a path.
    ApiUrl: "an HTTP URL without a path",
        "for example `https://api.mackerelio.com/`; the agent ignores a path", 1..=4096, is_api_url;
    /// Text with properties of the pod. No variable has a colon in its name.
    HostText: "text with known references",
        "use `$(namespace)`, `$(label:KEY)` or the name of a variable", 0..=usize::MAX, is_host_text;
    /// The full name of a label or annotation: `[prefix/]name`.
    MetadataName: "the name of a label or annotation",
        "use `prefix/name` or `name`: letters, digits, `-`, `_` and `.`, the name at most 63", 1..=317, is_metadata_name;
    /// An API group; `""` is the core group.
    Group: "an API group",
        "use it without a version, such as `apps`; the core group is `\"\"`", 0..=253, |text| text.is_empty() || is_subdomain(text);
    /// A kind.
    Kind: "a kind", "use the kind as in the manifest, such as `Deployment`", 1..=63, is_kind;
    /// A label's value.
    LabelValue: "a label's value",
        "letters, digits, `-`, `_` and `.`, at most 63; a letter or digit at both ends", 0..=63, |text| text.is_empty() || is_qualified(text);
}

/// A Go regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoRegexp(pub String);

impl FromStr for GoRegexp {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        const MUST_BE: &str = "a Go regular expression";
        // The empty pattern would match every container.
        if text.is_empty() {
            return Err(Violation::found(MUST_BE, text));
        }
        match go_regexp::check(text) {
            Ok(()) => Ok(Self(text.to_owned())),
            Err(why) => {
                let Violation { what, .. } = Violation::found(MUST_BE, text);
                let help = "for the syntax, see https://pkg.go.dev/regexp/syntax";
                Err(Violation::new(format!("{what}: {why}")).with_help(help))
            }
        }
    }
}

impl fmt::Display for GoRegexp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

texts! { GoRegexp: "type" = "string"; }

/// The lifetime of a ServiceAccount's token, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(try_from = "u32")]
#[cfg_attr(test, schemars(!try_from))]
pub struct TokenLifetime(
    #[cfg_attr(test, schemars(range(min = 600, max = 4_294_967_295u64)))] pub u32,
);

impl Default for TokenLifetime {
    /// The one lifetime that the API server extends, for clients which read the token once, as the agent does.
    fn default() -> Self {
        Self(3607)
    }
}

impl TryFrom<u32> for TokenLifetime {
    type Error = String;

    fn try_from(seconds: u32) -> Result<Self, String> {
        // The API server refuses less.
        if seconds >= 600 {
            return Ok(Self(seconds));
        }
        Err(Violation::found("at least 600", &seconds.to_string())
            .with_help("Kubernetes does not issue tokens for less than 10 minutes")
            .message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn takes<T: FromStr<Err = Violation>>(good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(text.parse::<T>().is_ok(), "{text}");
        }
        for text in bad {
            assert!(text.parse::<T>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_as_kubernetes_allows_them() {
        let long = &*"a".repeat(64);
        takes::<ObjectName>(
            &["a", "a.b-c", long],
            &["", "A", "a_b", "-a", "a-", "a..b", ".a", "a b"],
        );
        takes::<Namespace>(&["kube-system", "a1"], &["", "a.b", "Kube", "-a", long]);
        takes::<DataKey>(
            &["MACKEREL_APIKEY", "a.conf", ".a", &"a".repeat(253)],
            &["", ".", "..", "..a", "a/b", "a b", &"a".repeat(254)],
        );
        takes::<MetadataName>(
            &["a", "com.baeldung/wait-for-it"],
            &["", "a/b/c", "/a", "a/", "A/b", long],
        );
        takes::<HostText>(
            &[
                "",
                "$",
                "$$",
                "a\nb $5",
                "$$(a:b)",
                "$(A)-$(label:a.b/c)$(namespace)",
                "$(a:b",
            ],
            &["$(labels:a)", "$(label:a b)", "$$$(a:b)", "a$(b:)$"],
        );
        takes::<LabelValue>(&["", "web", "v1.2_3"], &["-a", "a b", long]);
        takes::<Group>(&["", "apps", "argoproj.io"], &["apps/v1", "Apps"]);
        takes::<Kind>(&["Deployment"], &["", "deployment", "apps/Deployment"]);
    }

    #[test]
    fn images_with_registry_tag_and_digest_or_a_placeholder() {
        let long = &*"0a".repeat(32);
        takes::<Image>(
            &[
                "a",
                "a-b/c__d.e:V1_x.y-z",
                &["r.io:5000/a/b:c@sha256:", long].concat(),
                "Registry.example.com/a",
                "Team/a",
                "localhost/a",
                "[::1]:5000/a:1",
                &["a@sha512:", long, long].concat(),
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
                "a@sha256:00",
                &["a@sha256:", &long.to_uppercase()].concat(),
                &["a@sha256:", long, "0"].concat(),
                &["a@md5:", long].concat(),
                &["a@b@sha256:", long].concat(),
                "a_",
                "{{ image }}",
                "${A} b",
            ],
        );
    }

    #[test]
    fn urls_and_patterns_of_the_agent() {
        takes::<ConfigLocation>(
            &["https://x/y", "s3://b/k", "/etc/a.conf"],
            &["", "x.conf", "ftp://x", "https://a b"],
        );
        takes::<ApiUrl>(
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
        );
        takes::<GoRegexp>(&["^istio-proxy$"], &["", "*", "(?=a)"]);
    }
}
