//! Settings that are read and checked but have no effect yet. Away from the default they are refused: nothing is accepted
//! without effect.

use super::reading::Complaint;
use super::{Config, is_at_or_below};
use serde_json::Value as Json;

/// Dotted paths of the settings; everything below them is meant too.
const WITHOUT_EFFECT: &[&str] = &["rbac"];

/// The settings without effect, by dotted path.
pub(crate) fn without_effect() -> &'static [&'static str] {
    WITHOUT_EFFECT
}

/// Complains about every setting without effect that is not at its default.
pub(crate) fn unsupported(config: &Config) -> Vec<(&str, Complaint)> {
    let default = Config::default();
    let is_without_effect = |set: &str| WITHOUT_EFFECT.iter().any(|path| is_at_or_below(set, path));
    config
        .explicit()
        .filter(|(set, _)| is_without_effect(set) && config.value(set) != default.value(set))
        .map(|(set, _)| {
            let help = match default.value(set).unwrap_or_default() {
                Json::Null => "take it away".to_owned(),
                Json::String(text) => format!("take it away, or set it to its default: `{text}`"),
                other => format!("take it away, or set it to its default: `{other}`"),
            };
            (set, Complaint::new(format!("`{set}` is not supported yet")).with_help(help))
        })
        .collect()
}
