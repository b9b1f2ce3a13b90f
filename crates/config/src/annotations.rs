//! The annotations of a pod template: the request for the agent, and settings on top of the configuration.

mod invalid;
mod unknown_key;
mod variable;

use crate::template_config::{AnnotationValue, annotation_conflicts};
use crate::violation::Violation;
use crate::{Config, Setting, WarningId};
use invalid::{conflicting, invalid};
use report::ReasonSet;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub use invalid::{InvalidAnnotation, InvalidAnnotations};
pub use mackerel::annotations::{Annotation, PREFIX};
pub use unknown_key::is_misspelt_request;
pub use unknown_key::{is_unknown, meant};
pub use variable::VariableName;

/// An annotation of the manifest: key, value, and the value's byte offset.
pub type Given<'a> = (&'a str, &'a str, usize);

/// The request of a template's annotation `inject`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectRequest {
    /// No such annotation.
    None,
    /// `"true"`: inject the agent.
    Inject,
    /// `"false"`: leave the template alone.
    OptOut,
}

/// Reads the annotation `inject`.
///
/// # Errors
/// If its value is neither `true` nor `false`, in any case of letters.
pub fn request(annotations: &[Given<'_>]) -> Result<InjectRequest, InvalidAnnotation> {
    let Some(given) = find(annotations, Annotation::Inject) else {
        return Ok(InjectRequest::None);
    };
    too_long(given).map_or(Ok(()), Err)?;
    let (key, value, offset) = given;
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(InjectRequest::Inject),
        "false" => Ok(InjectRequest::OptOut),
        _ => {
            let what = format!("must be `true` or `false`, found `{value}`");
            let violation = Violation::new(what).with_help(boolean_help(value));
            Err(invalid(key, offset, violation))
        }
    }
}

/// The most bytes of a value, so that none takes long to read. A record may have more: it lists what was added.
const MAX_VALUE: usize = 4096;

/// Returns the refusal of a value that is too long to be read.
pub fn too_long(given: Given<'_>) -> Option<InvalidAnnotation> {
    let (key, value, offset) = given;
    let length = value.len();
    if length <= MAX_VALUE {
        return None;
    }
    let what = format!("has a value of {length} bytes; at most {MAX_VALUE} are allowed");
    let violation = Violation::new(what).with_help("shorten the value");
    Some(invalid(key, offset, violation))
}

/// Returns the boolean that people mean by a word; `None` if they may mean neither.
fn meant_boolean(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" | "1" | "enable" | "enabled" => Some(true),
        "false" | "no" | "n" | "off" | "0" | "disable" | "disabled" => Some(false),
        _ => None,
    }
}

/// Returns the help for an annotation that takes `"true"` or `"false"`, and has this value.
pub fn boolean_help(value: &str) -> String {
    match meant_boolean(value) {
        Some(meant) => format!("write `\"{meant}\"`, in quotes"),
        None => "write `\"true\"` or `\"false\"`, in quotes".to_owned(),
    }
}

/// Returns the warnings that the annotation `ignore-warnings` acknowledges.
///
/// # Errors
/// If it names an id that is no warning, or one that a template cannot ignore.
pub fn ignored_warnings(annotations: &[Given<'_>]) -> Result<ReasonSet, InvalidAnnotation> {
    let Some(given) = find(annotations, Annotation::IgnoreWarnings) else {
        return Ok(ReasonSet::default());
    };
    too_long(given).map_or(Ok(()), Err)?;
    let (key, value, offset) = given;
    value
        .split(',')
        .map(str::trim)
        .filter(|id| !id.is_empty())
        .map(WarningId::parse_of_template)
        .collect::<Result<_, _>>()
        .map_err(|violation| invalid(key, offset, violation))
}

/// Returns the configuration for one template: its annotations override `config`. Annotations without a setting, such as
/// `inject`, and foreign ones are ignored.
///
/// # Errors
/// Every annotation with a value that is invalid for its setting or conflicts with another setting.
pub fn overlay<'c>(
    config: &'c Config,
    annotations: &[Given<'_>],
) -> Result<Cow<'c, Config>, InvalidAnnotations> {
    let mut long = Vec::new();
    let mut overrides = Vec::new();
    for given in annotations {
        let (key, value, offset) = *given;
        let Some(annotation) = Annotation::of(key) else {
            continue;
        };
        if annotation != Annotation::Record {
            long.extend(too_long(*given));
        }
        // It is reported as unknown.
        let variable = Annotation::variable(key);
        if variable.is_some_and(|name| VariableName::of(name) == VariableName::Unknown) {
            continue;
        }
        let setting = Setting::of_annotation(annotation);
        if (setting.is_some() || variable.is_some()) && is_setting(annotation, value) {
            overrides.push(Override {
                annotation,
                setting,
                given: AnnotationValue { key, value, offset },
            });
        }
    }
    if let Some(invalid) = InvalidAnnotations::of(long) {
        return Err(invalid);
    }
    if overrides.is_empty() {
        return Ok(Cow::Borrowed(config));
    }
    annotated(config, annotations, &overrides).map(Cow::Owned)
}

/// An annotation that overrides a setting.
struct Override<'a> {
    annotation: Annotation,
    /// The setting; none for `env.NAME`.
    setting: Option<&'static Setting>,
    given: AnnotationValue<'a>,
}

impl Override<'_> {
    fn invalid(&self, violation: Violation) -> InvalidAnnotation {
        invalid(self.given.key, self.given.offset, violation)
    }

    /// Reports an alias beside its annotation with another value.
    fn differs_from_its_alias(&self, overrides: &[&Override<'_>]) -> Option<InvalidAnnotation> {
        let name = self.annotation.key();
        let other = overrides.iter().rfind(|other| other.given.key == name)?;
        if self.given.key == name || self.given.value == other.given.value {
            return None;
        }
        let what = format!("has another value than its alias `{name}`");
        Some(self.invalid(Violation::new(what).with_help("remove one of them")))
    }
}

fn annotated(
    config: &Config,
    annotations: &[Given<'_>],
    overrides: &[Override<'_>],
) -> Result<Config, InvalidAnnotations> {
    let mut annotated = config.clone();
    let mut found = Vec::new();
    let (variables, overrides): (Vec<_>, Vec<_>) = overrides
        .iter()
        .partition(|one| one.annotation == Annotation::Env);
    for one in &overrides {
        found.extend(one.differs_from_its_alias(&overrides));
    }
    reset_overridden(&mut annotated, annotations);
    found.extend(set_variables(&mut annotated, &variables));
    for one in overrides {
        if let Some(setting) = one.setting
            && let Err(violation) = annotated.set_by_annotation(setting, one.given)
        {
            found.push(one.invalid(violation));
        }
    }
    if found.is_empty() {
        found.extend(
            annotation_conflicts(&annotated)
                .into_iter()
                .map(conflicting),
        );
    }
    match InvalidAnnotations::of(found) {
        Some(invalid) => Err(invalid),
        None => Ok(annotated),
    }
}

/// Sets the variables of annotations `env.NAME`. Returns those that no annotation may set.
fn set_variables(annotated: &mut Config, overrides: &[&Override<'_>]) -> Vec<InvalidAnnotation> {
    let mut found = Vec::new();
    let mut variables = BTreeMap::new();
    for one in overrides {
        let name = Annotation::variable(one.given.key).unwrap_or_default();
        if let Some(violation) = VariableName::of(name).violation(name) {
            found.push(one.invalid(violation));
        } else {
            variables.insert(name, one.given);
        }
    }
    annotated.set_variables(variables);
    found
}

/// Returns false for an empty value of the three annotations that the original injector ignores when they are empty.
fn is_setting(annotation: Annotation, value: &str) -> bool {
    match annotation {
        Annotation::ApiKeySecretName
        | Annotation::AgentConfigMapName
        | Annotation::AgentConfigLocation => !value.is_empty(),
        _ => true,
    }
}

/// Resets settings of the configuration that exclude those of the template's annotations.
fn reset_overridden(annotated: &mut Config, annotations: &[Given<'_>]) {
    let is_set = |wanted, (key, value, _): &Given<'_>| {
        Annotation::of(key) == Some(wanted) && is_setting(wanted, value)
    };
    let has = |annotation| annotations.iter().any(|given| is_set(annotation, given));
    let is_insecure = find(annotations, Annotation::KubeletInsecureTls)
        .is_some_and(|(_, value, _)| value.eq_ignore_ascii_case("true"));
    let is_fargate =
        find(annotations, Annotation::Platform).is_some_and(|(_, value, _)| value == "eks-fargate");
    if has(Annotation::KubeletReadOnlyPort) || is_fargate {
        annotated.spec.kubelet = Default::default();
        annotated.forget("kubelet");
    } else if has(Annotation::KubeletPort) || is_insecure {
        annotated.spec.kubelet.read_only_port = None;
        annotated.forget("kubelet.readOnlyPort");
    }
    if has(Annotation::AgentConfigMapName) {
        annotated.spec.agent.config.location = None;
        annotated.forget("agent.config.location");
    }
    for annotation in Annotation::ALL {
        if let Some(setting) = Setting::path_of(*annotation)
            && has(*annotation)
        {
            annotated.remove_variables_of(setting);
        }
    }
}

fn find<'a>(annotations: &[Given<'a>], wanted: Annotation) -> Option<Given<'a>> {
    annotations
        .iter()
        .copied()
        .rfind(|(key, ..)| Annotation::of(key) == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KubeletConnection, Sources, load};

    fn given<'a>(pairs: &'a [(String, &'a str)]) -> Vec<Given<'a>> {
        pairs
            .iter()
            .enumerate()
            .map(|(index, (key, value))| (key.as_str(), *value, index))
            .collect()
    }

    fn keys<'a>(pairs: &[(&str, &'a str)]) -> Vec<(String, &'a str)> {
        pairs
            .iter()
            .map(|(name, value)| (format!("{PREFIX}{name}"), *value))
            .collect()
    }

    fn configured(spec: &str) -> Config {
        let text = format!(
            "{{apiVersion: agent-injector.contrib.mackerel.io/v1alpha1, kind: AgentInjector, spec: {spec}}}"
        );
        load(&Sources::of_text("c", &text)).unwrap()
    }

    #[track_caller]
    fn on(config: &Config, pairs: &[(&str, &str)]) -> Config {
        overlay(config, &given(&keys(pairs))).unwrap().into_owned()
    }

    #[test]
    fn the_original_six_keep_their_meaning() {
        let config = configured("{agent: {roles: [shop:api], config: {location: 'https://x/y'}}}");
        let spec = on(&config, &[("roles", "web:app, db:main ,")]).spec;
        assert_eq!(
            spec.agent
                .roles
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            ["web:app", "db:main"]
        );
        assert!(on(&config, &[("roles", "")]).spec.agent.roles.is_empty());

        let spec = on(&config, &[("mackerel_apikey.secret_name", "key")]).spec;
        assert_eq!(
            (
                spec.api_key.secret_key_ref.name.as_str(),
                spec.api_key.secret_key_ref.key.as_str()
            ),
            ("key", "MACKEREL_APIKEY")
        );

        let spec = on(&config, &[("mackerel_agent_config.configmap_name", "conf")]).spec;
        assert_eq!(
            spec.agent.config.variable().as_deref(),
            Some("/etc/mackerel-agent/mackerel-agent.conf")
        );

        let both = [
            ("env.mackerel_agent_config", "/etc/mackerel-agent/a"),
            ("mackerel_agent_config.configmap_name", "conf"),
        ];
        let spec = on(&config, &both).spec;
        assert_eq!(
            spec.agent
                .config
                .config_map_key_ref
                .name
                .as_deref()
                .map(String::as_str),
            Some("conf")
        );
        assert_eq!(
            spec.agent.config.variable().as_deref(),
            Some("/etc/mackerel-agent/a")
        );

        let empty = [
            "mackerel_apikey.secret_name",
            "mackerel_agent_config.configmap_name",
            "env.mackerel_agent_config",
        ];
        assert_eq!(on(&config, &empty.map(|name| (name, ""))), config);
    }

    #[test]
    fn a_long_value_is_refused_and_a_record_is_not() {
        let (long, most) = ("x".repeat(MAX_VALUE + 1), "x".repeat(MAX_VALUE));
        let config = Config::default();
        for annotation in Annotation::ALL {
            let pairs = keys(&[(annotation.name(), &*long)]);
            let refused = match annotation {
                Annotation::Inject => request(&given(&pairs)).err(),
                Annotation::IgnoreWarnings => ignored_warnings(&given(&pairs)).err(),
                _ => overlay(&config, &given(&pairs))
                    .err()
                    .map(|invalid| invalid.first),
            };
            let message = refused.map(|refused| refused.message);
            let expected = format!(
                "annotation `{}` has a value of 4097 bytes; at most 4096 are allowed",
                annotation.key()
            );
            assert_eq!(
                message,
                (*annotation != Annotation::Record).then_some(expected)
            );
        }
        assert!(overlay(&config, &given(&keys(&[("status", &*most)]))).is_ok());
    }

    #[test]
    fn an_alias_says_the_same_as_its_annotation_or_is_invalid() {
        let config = Config::default();
        let both = |value| {
            [
                ("api-key-secret-name", "key"),
                ("mackerel_apikey.secret_name", value),
            ]
        };
        for value in ["key", ""] {
            assert_eq!(
                *on(&config, &both(value)).spec.api_key.secret_key_ref.name,
                "key",
                "{value}"
            );
        }
        let pairs = keys(&both("other"));
        let InvalidAnnotations { first, others } = overlay(&config, &given(&pairs)).unwrap_err();
        assert_eq!(
            (first.key.as_str(), first.offset, others.len()),
            (pairs[1].0.as_str(), 1, 0)
        );
        assert!(
            first.message.ends_with(
                "has another value than its alias `agent-injector.contrib.mackerel.io/api-key-secret-name`"
            )
        );
    }

    #[test]
    fn the_template_wins_where_settings_exclude_each_other() {
        let config = configured("{kubelet: {readOnlyPort: 10255}}");
        let access = |pairs: &[(&str, &str)]| on(&config, pairs).spec.kubelet_connection();
        assert_eq!(
            access(&[("kubelet-port", "10250")]),
            KubeletConnection::Tls {
                port: 10250,
                insecure: false
            }
        );
        assert_eq!(
            access(&[("kubelet-insecure-tls", "true")]),
            KubeletConnection::Tls {
                port: 10250,
                insecure: true
            }
        );
        assert_eq!(
            access(&[("kubelet-insecure-tls", "false")]),
            KubeletConnection::ReadOnly { port: 10255 }
        );
        assert_eq!(
            access(&[("platform", "eks-fargate")]),
            KubeletConnection::ApiServer
        );
        let config = configured("{kubelet: {port: 1, insecureTLS: true}}");
        assert_eq!(
            on(&config, &[("platform", "eks-fargate")])
                .spec
                .kubelet_connection(),
            KubeletConnection::ApiServer
        );
        let access = on(&config, &[("kubelet-read-only-port", "2")])
            .spec
            .kubelet_connection();
        assert_eq!(access, KubeletConnection::ReadOnly { port: 2 });
    }

    #[test]
    fn values_that_cannot_be_are_all_named() {
        let config = Config::default();
        for (pairs, bad) in [
            (
                &[
                    ("image", "a b"),
                    ("kubelet-port", "0"),
                    ("memory-limit", "lots"),
                ][..],
                &["image", "kubelet-port", "memory-limit"][..],
            ),
            (&[("roles", "web")], &["roles"]),
            (
                &[("kubelet-insecure-tls", "yes")],
                &["kubelet-insecure-tls"],
            ),
            (&[("memory-limit", "32Mi")], &["memory-limit"]),
            (&[("memory-request", "256Mi")], &["memory-request"]),
            (
                &[("kubelet-port", "1"), ("kubelet-read-only-port", "2")],
                &["kubelet-read-only-port"],
            ),
            (&[("sidecar", "nativ")], &["sidecar"]),
            (
                &[("platform", "eks-fargate"), ("kubelet-port", "1")],
                &["kubelet-port"],
            ),
            (&[("memory-limit", "128m")], &["memory-limit"]),
            (
                &[("ignore-container", "(?=a)"), ("log-level", "debug")],
                &["ignore-container", "log-level"],
            ),
            (
                &[("host-status-on-start", "retired")],
                &["host-status-on-start"],
            ),
            (
                &[("agent-config-configmap-key", "a")],
                &["agent-config-configmap-key"],
            ),
            (
                &[
                    ("agent-config-configmap-key", "a"),
                    ("agent-config-location", "/a"),
                    ("agent-config-configmap-name", "a"),
                ],
                &["agent-config-configmap-key"],
            ),
            (
                &[("api-key-secret-name", "Upper")],
                &["api-key-secret-name"],
            ),
            (
                &[("mackerel_apikey.secret_name", "Upper")],
                &["mackerel_apikey.secret_name"],
            ),
        ] {
            let pairs = keys(pairs);
            let InvalidAnnotations { first, others } =
                overlay(&config, &given(&pairs)).unwrap_err();
            let errors = [vec![first], others].concat();
            let named: Vec<&str> = errors
                .iter()
                .map(|error| error.key.strip_prefix(PREFIX).unwrap())
                .collect();
            assert_eq!(named, bad, "{errors:?}");
            let names = |error: &InvalidAnnotation| {
                error
                    .message
                    .contains(error.key.strip_prefix(PREFIX).unwrap())
            };
            assert!(errors.iter().all(names), "{errors:?}");
            assert!(
                errors
                    .iter()
                    .all(|error| pairs[error.offset].0 == error.key)
            );
        }
    }
}
