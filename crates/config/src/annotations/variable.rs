//! The annotations `env.NAME`.

use crate::Setting;
use crate::violation::Violation;
use mackerel::annotations::Annotation;
use mackerel::env::VariableForm;

/// Beginning of the names of the agent's own variables.
const OF_AGENT: &str = "MACKEREL_";

/// The most characters: a name of an annotation may have 63, and begins with `env.`.
const MAX_LENGTH: usize = 59;

/// The variable that an annotation `env.NAME` names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VariableName {
    /// Any variable that is not the agent's own.
    Free,
    /// A variable that this setting gives.
    OfSetting(&'static Setting),
    /// A variable of the agent without a setting.
    Unknown,
    /// No name of a variable.
    Invalid,
}

impl VariableName {
    pub fn of(name: &str) -> Self {
        // In small letters it would have no effect.
        let in_capitals = name.to_ascii_uppercase();
        match Setting::of_variable(&in_capitals) {
            Some((setting, variable)) => {
                let annotation = match variable.form {
                    VariableForm::SecretKey => Some(Annotation::ApiKeySecretName),
                    VariableForm::ConfigFile => Some(Annotation::AgentConfigLocation),
                    _ => None,
                };
                VariableName::OfSetting(
                    annotation
                        .and_then(Setting::of_annotation)
                        .unwrap_or(setting),
                )
            }
            None if in_capitals.starts_with(OF_AGENT) => VariableName::Unknown,
            None if is_valid(name) => VariableName::Free,
            None => VariableName::Invalid,
        }
    }

    /// Returns the reason why no annotation may set the variable, if there is one.
    pub(super) fn violation(self, name: &str) -> Option<Violation> {
        match self {
            VariableName::Free | VariableName::Unknown => None,
            VariableName::OfSetting(setting) => {
                let Setting {
                    path: setting,
                    annotation,
                    ..
                } = setting;
                let what = format!("sets {name}, which `{setting}` controls");
                Some(Violation::new(what).with_help(match annotation {
                    Some(annotation) => format!("use annotation `{}`", annotation.key()),
                    None => format!("set `{setting}` in the configuration"),
                }))
            }
            VariableName::Invalid => {
                let what = format!("has an invalid variable name: `{name}`");
                let help = format!(
                    "use letters, digits and `_`, at most {MAX_LENGTH}; the first is no digit, the last is no `_`"
                );
                Some(Violation::new(what).with_help(help))
            }
        }
    }
}

/// Returns true for a name that a shell can read, and that the name of an annotation may end with.
fn is_valid(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() <= MAX_LENGTH
        && bytes
            .iter()
            .all(|byte| matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_'))
        && bytes.first().is_some_and(|byte| !byte.is_ascii_digit())
        && bytes.last() != Some(&b'_')
}

#[cfg(test)]
mod tests {
    use super::VariableName;
    use crate::Setting;
    use crate::table::SETTINGS;

    fn of_setting(path: &str) -> VariableName {
        let is_it = |setting: &&Setting| setting.path == path;
        VariableName::OfSetting(SETTINGS.iter().find(is_it).unwrap())
    }

    #[test]
    fn variables_with_a_setting_are_left_to_it() {
        let longest = "A".repeat(59);
        for (name, expected) in [
            ("HTTPS_PROXY", VariableName::Free),
            ("_a1", VariableName::Free),
            ("TMPDIR", VariableName::Free),
            (&*longest, VariableName::Free),
            ("MACKEREL_ROLES", of_setting("agent.roles")),
            ("mackerel_roles", of_setting("agent.roles")),
            ("MACKEREL_APIBASE", of_setting("agent.apiBase")),
            ("MACKEREL_APIKEY", of_setting("apiKey.secretKeyRef.name")),
            ("MACKEREL_AGENT_CONFIG", of_setting("agent.config.location")),
            ("MACKEREL_CONTAINER_PLATFORM", of_setting("platform")),
            ("MACKEREL_ROLE", VariableName::Unknown),
            ("MACKEREL_", VariableName::Unknown),
            ("", VariableName::Invalid),
            ("1A", VariableName::Invalid),
            ("A_", VariableName::Invalid),
            ("A-B", VariableName::Invalid),
            ("A.B", VariableName::Invalid),
            ("Ä", VariableName::Invalid),
            (&[&*longest, "A"].concat(), VariableName::Invalid),
        ] {
            assert_eq!(VariableName::of(name), expected, "{name}");
        }
    }
}
