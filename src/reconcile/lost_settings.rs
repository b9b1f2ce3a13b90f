//! The settings of an adopted agent that the injected one does not have.

use crate::agent::canonical::canonicalize;
use crate::agent::difference::{Difference, DifferenceKind, differences};
use crate::config::{AgentSettings, SettingRow, Spec, of_variable, real_path};
use crate::mackerel::env::NODE_VARIABLES;
use crate::mackerel::names::Volume;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;

/// A field, and the setting that would keep it as it was. Values of the old container are never shown: one may be an API key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct LostSetting {
    /// `env MACKEREL_ROLES`
    pub(super) name: String,
    /// None if the configuration has none for it.
    pub(super) setting: Option<&'static str>,
}

impl fmt::Display for LostSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.setting {
            Some(setting) => write!(f, "{} (`{setting}`)", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Fields of the old container that are not those of the new one.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AdoptionDifferences {
    /// The image's tag, which belongs to the configuration, and its pull policy.
    pub(super) image: Vec<LostSetting>,
    /// Fields that say what the agent runs, reads and mounts, and when it is ready: only `--adopt=lossy` accepts their loss.
    pub(super) essential: Vec<LostSetting>,
    /// Everything else.
    pub(super) lost: Vec<LostSetting>,
    /// Restrictions that only the new container has.
    pub(super) stricter: Vec<LostSetting>,
}

/// A field that is lost, and how much that matters.
struct Loss {
    field: LostSetting,
    is_essential: bool,
}

/// Fields of a container that are essential and that no setting gives. A list of mounts is here as a whole; its items are compared
/// one by one where each has a path.
const ESSENTIAL_FIELDS: [&str; 9] = [
    "command",
    "args",
    "envFrom",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "volumeDevices",
    "volumeMounts",
];

/// Fields of a security context that forbid something.
const SECURITY_RESTRICTIONS: [&str; 3] =
    ["runAsUser", "readOnlyRootFilesystem", "capabilities/drop"];

/// Fields of resources that limit a container.
const LIMITS: [&str; 2] = ["limits/cpu", "limits/memory"];

impl AdoptionDifferences {
    /// Compares two containers. `equal` are variables, and volumes of mounts, that differ in form only.
    pub(super) fn of(old: &Value, new: &Value, equal: &[&str], settings: &AgentSettings) -> Self {
        let mut found = Self {
            stricter: stricter(old, new),
            ..Self::default()
        };
        let old = canonicalize(&without_list_fields(old.clone()));
        let new = canonicalize(&without_list_fields(new.clone()));
        let mut known = HashSet::new();
        for difference in differences(&with_real_paths(&old), &with_real_paths(&new)) {
            let Some(loss) = loss(&old, &difference, equal, settings) else {
                continue;
            };
            if !known.insert(loss.field.clone()) {
                continue;
            }
            // `image` and `imagePullPolicy`
            if difference.old.starts_with("/image") {
                found.image.push(loss.field);
            } else if loss.is_essential {
                found.essential.push(loss.field);
            } else {
                found.lost.push(loss.field);
            }
        }
        found
    }
}

/// Returns the restrictions that only the new container has, those of one setting together.
fn stricter(old: &Value, new: &Value) -> Vec<LostSetting> {
    let mut stricter = Vec::new();
    for (setting, restrictions) in [
        (
            AgentSettings::security_context(),
            &SECURITY_RESTRICTIONS[..],
        ),
        (AgentSettings::resources(), &LIMITS[..]),
    ] {
        let mut fields = Vec::new();
        for restriction in restrictions {
            let pointer = format!("/{}/{restriction}", setting.name);
            let is_set = |container: &Value| {
                let value = container.pointer(&pointer);
                value.is_some_and(|value| !value.is_null())
            };
            if is_set(new) && !is_set(old) {
                fields.push(restriction.replace('/', "."));
            }
        }
        if !fields.is_empty() {
            stricter.push(LostSetting {
                name: fields.join(", "),
                setting: Some(setting.path),
            });
        }
    }
    stricter
}

/// Returns the field that a difference loses; none for one that does not count, and for what only the new container has.
fn loss(
    old: &Value,
    difference: &Difference,
    equal: &[&str],
    settings: &AgentSettings,
) -> Option<Loss> {
    let tokens: Vec<&str> = difference.old.split('/').skip(1).collect();
    let is_new = difference.kind == DifferenceKind::New;
    match tokens[..] {
        [] | ["name"] => None,
        ["env" | "volumeMounts"] if is_new => None,
        [list @ ("env" | "volumeMounts"), item, ref inner @ ..] => {
            let item = old.get(list)?.get(item.parse::<usize>().ok()?)?;
            let name = item.get("name").and_then(Value::as_str);
            let is_equal = name.is_some_and(|name| equal.contains(&name));
            if is_equal || (is_new && inner.is_empty()) {
                return None;
            }
            if list == "volumeMounts" {
                return Some(lost_mount(item, inner, settings));
            }
            let variable = name.unwrap_or("without a name");
            Some(Loss {
                field: LostSetting {
                    name: format!("env {variable}"),
                    setting: Some(setting_of(variable).path),
                },
                is_essential: false,
            })
        }
        _ if is_new => None,
        [field, ..] => {
            // Lists are replaced as a whole.
            let fields = tokens.iter().copied();
            let fields = fields.take_while(|token| token.parse::<usize>().is_err());
            Some(Loss {
                field: LostSetting {
                    name: fields.collect::<Vec<_>>().join("."),
                    setting: AgentSettings::of_field(field).map(|setting| setting.path),
                },
                is_essential: ESSENTIAL_FIELDS.contains(&field),
            })
        }
    }
}

/// Describes a mount that is lost, or one that differs in the field `inner`. A mount is essential unless the agent has another
/// volume at its path, such as its scratch space; with the file that `agent.config.location` names, it is essential even then.
fn lost_mount(mount: &Value, inner: &[&str], settings: &AgentSettings) -> Loss {
    let text = |field: &str| mount.get(field).and_then(Value::as_str);
    let path = text("mountPath").unwrap_or("without a path");
    let is_taken = settings.is_taken(path);
    let mut injected = Volume::ALL.iter();
    let is_injected = injected.any(|volume| text("name") == Some(volume.name()));
    let can_be_set = !is_injected && !is_taken;
    let setting = can_be_set.then_some(AgentSettings::volume_mounts().path);
    if let [field, ..] = inner
        && *field != "name"
    {
        let name = format!("{field} of the mount at {path}");
        return Loss {
            field: LostSetting { name, setting },
            is_essential: false,
        };
    }
    let location = settings.config.location.as_deref();
    let has_config = location.is_some_and(|location| is_at_or_below(location, path));
    let name = match (has_config, is_taken) {
        (true, _) => format!("the mount at {path} with the agent's configuration file"),
        (false, true) => format!("the mount at {path}, where the agent has another volume"),
        (false, false) => format!("the mount at {path}"),
    };
    Loss {
        field: LostSetting { name, setting },
        is_essential: has_config || !is_taken,
    }
}

/// Returns true if a file is at a mount's path (by `subPath`) or below it.
fn is_at_or_below(file: &str, mount_path: &str) -> bool {
    let (file, mount_path) = (real_path(file), real_path(mount_path));
    match file.strip_prefix(&mount_path) {
        Some(below) => below.is_empty() || below.starts_with('/'),
        None => false,
    }
}

/// Returns the setting that gives a variable, or that would if it had to.
pub(super) fn setting_of(variable: &str) -> &'static SettingRow {
    if NODE_VARIABLES.contains(&variable) {
        return Spec::platform();
    }
    of_variable(variable).map_or(AgentSettings::env(), |(setting, _)| setting)
}

/// Returns the container with the paths of its mounts as a container runtime reads them: two spellings are one path.
fn with_real_paths(container: &Value) -> Value {
    let mut container = container.clone();
    let mounts = container
        .get_mut("volumeMounts")
        .and_then(Value::as_array_mut);
    for mount in mounts.into_iter().flatten() {
        if let Some(Value::String(path)) = mount.get_mut("mountPath") {
            *path = real_path(path);
        }
    }
    container
}

/// Removes the fields that depend on the container's list.
fn without_list_fields(mut container: Value) -> Value {
    let variables = container.get_mut("env").and_then(Value::as_array_mut);
    for variable in variables.into_iter().flatten() {
        let Some(Value::Object(sources)) = variable.get_mut("valueFrom") else {
            continue;
        };
        for reference in sources.values_mut() {
            if let Value::Object(fields) = reference {
                fields.shift_remove("optional");
            }
        }
    }
    if let Some(fields) = container.as_object_mut() {
        fields.shift_remove("restartPolicy");
    }
    container
}

#[cfg(test)]
mod tests {
    use super::{AdoptionDifferences, LostSetting, is_at_or_below, without_list_fields};
    use crate::agent::canonical::canonicalize;
    use crate::config::AgentSettings;
    use serde_json::json;

    #[test]
    fn losses_are_reported_by_name_and_setting() {
        let old = json!({
            "name": "agent", "image": "a:1", "command": ["x"], "args": ["y"],
            "env": [{"name": "MACKEREL_APIKEY", "value": "secret"}, {"name": "MACKEREL_ROLES", "value": "a:b"},
                {"name": "SAME", "value": "1"}, {"name": "OTHER", "value": "secret"}],
            "resources": {"limits": {"cpu": "1", "memory": "2"}, "requests": {"memory": "1"}},
            "volumeMounts": [{"mountPath": "/a", "name": "a"}, {"mountPath": "/b", "name": "b"}, {"mountPath": "/c", "name": "kept"},
                {"mountPath": "/d", "name": "d"}, {"mountPath": "/var/tmp", "name": "e"}],
        });
        let new = json!({
            "name": "injected", "image": "a:2",
            "env": [{"name": "MACKEREL_APIKEY", "valueFrom": {}}, {"name": "SAME", "value": "1"}],
            "resources": {"limits": {"memory": "3"}, "requests": {"memory": "1"}},
            "volumeMounts": [{"mountPath": "/a", "name": "c"}, {"mountPath": "/d", "name": "d", "readOnly": true}],
        });
        let found = AdoptionDifferences::of(&old, &new, &["kept"], &AgentSettings::default());
        let shown = |settings: &[LostSetting]| -> Vec<String> {
            settings.iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown(&found.image), ["image (`agent.image`)"]);
        assert_eq!(
            shown(&found.lost),
            [
                "env MACKEREL_APIKEY (`apiKey`)",
                "env MACKEREL_ROLES (`agent.roles`)",
                "env OTHER (`agent.env`)",
                "resources.limits.cpu (`agent.resources`)",
                "resources.limits.memory (`agent.resources`)",
                "readOnly of the mount at /d (`agent.volumeMounts`)",
                "the mount at /var/tmp, where the agent has another volume",
            ]
        );
        assert_eq!(
            shown(&found.essential),
            [
                "args",
                "command",
                "the mount at /a (`agent.volumeMounts`)",
                "the mount at /b (`agent.volumeMounts`)",
            ]
        );
        let restricted = json!({
            "securityContext": {"runAsUser": 65532, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
            "resources": {"limits": {"memory": "128Mi"}},
        });
        let unrestricted =
            json!({"securityContext": {"readOnlyRootFilesystem": false, "runAsUser": null}});
        let found =
            AdoptionDifferences::of(&unrestricted, &restricted, &[], &AgentSettings::default());
        assert_eq!(
            shown(&found.stricter),
            [
                "runAsUser, capabilities.drop (`agent.securityContext`)",
                "limits.memory (`agent.resources`)",
            ]
        );
        assert_eq!(
            AdoptionDifferences::of(&new, &new, &[], &AgentSettings::default()),
            AdoptionDifferences::default()
        );
    }

    #[test]
    fn a_file_is_at_a_mount_or_below_it() {
        for (file, mount_path, expected) in [
            ("/etc/agent.yaml", "/etc/agent.yaml", true),
            ("/var/run/agent/a.yaml", "/run/agent/", true),
            ("/etc/agent.yaml", "/etc/agent", false),
            ("https://example.com/etc/agent.yaml", "/etc", false),
        ] {
            assert_eq!(
                is_at_or_below(file, mount_path),
                expected,
                "{file} and {mount_path}"
            );
        }
    }

    #[test]
    fn what_its_list_demands_is_no_loss() {
        let key = |optional: bool| json!({"secretKeyRef": {"name": "a", "key": "b", "optional": optional}});
        let [native, container] = [(true, "Always"), (false, "")].map(|(optional, policy)| {
            let env = json!([{"name": "MACKEREL_APIKEY", "valueFrom": key(optional)}]);
            canonicalize(&without_list_fields(
                json!({"name": "agent", "restartPolicy": policy, "env": env}),
            ))
        });
        assert_eq!(native, container);
    }
}
