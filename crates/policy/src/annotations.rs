//! The annotations about which the policy decides. A pod with another one that changes the agent is left alone.

use crate::cel;
use crate::conditions::ANNOTATIONS;
use config::{Config, WarningId};
use mackerel::annotations::{Annotation, PREFIX};
use report::Reason;

/// The condition that a value is not so long that to read it costs the API server seconds.
const SHORT: &str = "size(string(v)) <= 1000";

/// Returns the full keys of an annotation and its alias.
fn keys(annotation: Annotation) -> Vec<String> {
    annotation
        .names()
        .map(|name| format!("{PREFIX}{name}"))
        .collect()
}

/// Returns the condition that each of these annotations is absent, or has a short value `v` that meets the condition.
fn all(keys: &[String], condition: &str) -> String {
    let keys = cel::strings(keys);
    format!("{keys}.all(k,\n  {ANNOTATIONS}[?k].optMap(v, {SHORT} && {condition}).orValue(true))")
}

/// Returns the condition on the ids of `ignore-warnings`.
pub(super) fn ignored_warnings() -> String {
    let mut ids = vec![""];
    for reason in Reason::ALL {
        if WarningId::parse_of_template(reason.id()).is_ok() {
            ids.push(reason.id());
        }
    }
    let ids = cel::strings(&ids);
    let condition = format!("v.split(',').map(i, i.trim()).all(i, i in {ids})");
    all(&keys(Annotation::IgnoreWarnings), &condition)
}

/// Returns a condition that fails for a pod with an annotation of this injector that changes the agent. One that the configuration does
/// not allow has no effect.
pub(super) fn no_override(config: &Config) -> String {
    use Annotation::{IgnoreWarnings, Inject, Record, Status, WaitFor};
    let mut known = Vec::new();
    for annotation in Annotation::ALL {
        let is_read = matches!(
            annotation,
            Inject | Status | Record | IgnoreWarnings | WaitFor
        );
        if is_read || !config.allows(*annotation) {
            known.extend(keys(*annotation));
        }
    }
    let (prefix, known) = (cel::string(PREFIX), cel::strings(&known));
    format!("variables.annotations.all(k, !k.startsWith({prefix}) || k in {known})")
}

/// Returns the condition that the pod does not request to wait for hosts.
pub(super) fn waits_for_nothing(config: &Config) -> String {
    if !config.allows(Annotation::WaitFor) {
        return "true".to_owned();
    }
    let mut keys = keys(Annotation::WaitFor);
    for name in &config.spec.wait_for.annotations {
        keys.push(name.to_string());
    }
    all(&keys, r"v.matches('^[\\s,]*$')")
}
