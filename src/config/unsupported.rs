//! Settings that are read and checked but have no effect yet. Away from the default they are refused: nothing is accepted
//! without effect.

use super::reading::Complaint;
use super::setting::{Field, Setting as _};
use super::spec::Spec;
use super::{Config, is_at_or_below};
use serde_json::Value as Json;

/// Dotted paths of the settings; everything below them is meant too.
const WITHOUT_EFFECT: &[&str] = &[
    "sidecar",
    "platform",
    "agent.imagePullSecrets",
    "agent.displayName",
    "agent.memo",
    "agent.hostStatusOnStart",
    "agent.ignoreContainer",
    "agent.logLevel",
    "agent.apiBase",
    "agent.hostIdStore",
    "qos",
    "waitFor",
    "rbac",
];

/// Complains about every setting without effect that is not at its default.
pub(crate) fn unsupported(config: &Config) -> Vec<(&str, Complaint)> {
    let default = Spec::default();
    let is_without_effect = |set: &str| WITHOUT_EFFECT.iter().any(|path| is_at_or_below(set, path));
    config
        .explicit()
        .filter(|(set, _)| is_without_effect(set))
        .filter(|(set, _)| json_at(&config.spec.fields(), set) != json_at(&default.fields(), set))
        .map(|(set, _)| {
            let default = json_at(&default.fields(), set).unwrap_or_default();
            let complaint = Complaint::new(format!("`{set}` is not supported yet"));
            (set, complaint.with_help(format!("take it away, or set it to its default: `{default}`")))
        })
        .collect()
}

/// The value of a setting, as a configuration would write it.
fn json_at(fields: &[Field<'_>], dotted: &str) -> Option<Json> {
    fields.iter().find_map(|field| {
        if field.name == dotted {
            return Some(field.setting.json());
        }
        json_at(&field.setting.fields(), dotted.strip_prefix(field.name)?.strip_prefix('.')?)
    })
}
