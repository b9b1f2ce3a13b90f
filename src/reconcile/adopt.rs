//! Adopts a foreign agent: the injected agent replaces it at its position.
//!
//! The decision is made on the template without the foreign agent, as for an injected one. Fields that are lost are reported by
//! name, never by value: one may be an API key. Volumes stay, except those that have the name of an injected volume and that no
//! other container mounts: the injected ones replace them.

use crate::agent::Agent;
use crate::agent::canonical::canonicalize;
use crate::agent::difference::{Difference, DifferenceKind, differences};
use crate::agent::existing::{ExistingInjection, is_agent};
use crate::mackerel::env::VARIABLES;
use crate::mackerel::names::{CONTAINER, Volume};
use crate::manifest::pod_template::{Container, ContainerList, PodTemplate, PodVolume};
use crate::manifest::resource::text;
use crate::options::Tense;
use serde_json::Value;
use yaml_json_patch::{Kind, Tree, to_json};

/// A foreign agent that can be adopted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Adoptable {
    pub(crate) old: Container,
    /// The template without it and without the volumes that are replaced.
    pub(crate) without: PodTemplate,
}

/// Returns the first foreign agent of a template without an injected one. Ephemeral containers cannot be changed.
pub(crate) fn candidate(
    tree: &Tree<'_>,
    template: &PodTemplate,
    existing: Option<&ExistingInjection>,
) -> Option<Adoptable> {
    if existing.is_some_and(|existing| existing.component_set().agent().is_some()) {
        return None;
    }
    let can_be = |container: &Container| is_agent(container) && container.list != ContainerList::EphemeralContainers;
    let at = template.containers.iter().position(can_be)?;
    let mut without = template.clone();
    let old = without.containers.remove(at);
    let is_replaced = |volume: &PodVolume| {
        let name = volume.name.as_deref().unwrap_or_default();
        let is_shared = tree.kind(volume.node) == Kind::Alias;
        !is_shared && is_injected_name(name) && mounts(tree, &old, name) && !is_mounted(tree, &without.containers, name)
    };
    without.volumes = template.volumes.iter().filter(|volume| !is_replaced(volume)).cloned().collect();
    Some(Adoptable { old, without })
}

fn is_injected_name(name: &str) -> bool {
    Volume::ALL.iter().any(|volume| volume.name() == name)
}

fn is_mounted(tree: &Tree<'_>, containers: &[Container], volume: &str) -> bool {
    containers.iter().any(|container| mounts(tree, container, volume))
}

pub(crate) fn mounts(tree: &Tree<'_>, container: &Container, volume: &str) -> bool {
    ["volumeMounts", "volumeDevices"].into_iter().filter_map(|list| tree.member(container.node, list)).any(|list| {
        let mut items = tree.items(tree.alias_target(list));
        items.any(|item| text(tree, item, "name").as_deref() == Some(volume))
    })
}

/// Returns the volumes that stay although only the old container mounted them.
pub(crate) fn left_behind<'a>(
    tree: &'a Tree<'_>,
    template: &'a PodTemplate,
    adoption: &'a Adoptable,
    agent: &'a Agent,
) -> impl Iterator<Item = &'a PodVolume> {
    let Adoptable { old, without } = adoption;
    template.volumes.iter().filter(|volume| {
        let name = volume.name.as_deref().unwrap_or_default();
        let is_replaced = agent.volumes.iter().any(|(injected, _)| injected.name() == name);
        !is_replaced && mounts(tree, old, name) && !is_mounted(tree, &without.containers, name)
    })
}

/// Fields of the container and the settings that give them.
const FIELDS: [(&str, &str); 4] = [
    ("image", "agent.image"),
    ("imagePullPolicy", "agent.imagePullPolicy"),
    ("resources", "agent.resources"),
    ("securityContext", "agent.securityContext"),
];

/// Describes the adoption in one sentence.
pub(crate) fn describe(tree: &Tree<'_>, old: &Container, agent: &Agent, tense: Tense) -> String {
    let before = to_json(tree, old.node).unwrap_or_default();
    let name = old.name.as_deref().unwrap_or("without a name");
    let LostFields { gone, changed } = LostFields::of(&comparable(before), &comparable(Value::clone(&agent.container)));
    let mut message = format!("container {name} {} adopted", tense.auxiliary());
    // An annotation or another container's `resourceFieldRef` may refer to the old name.
    if name != CONTAINER {
        message += &format!(", renamed to {CONTAINER}");
    }
    if old.list.field() != agent.sidecar.field() {
        message += &format!(", moved to `{}`", agent.sidecar.field());
    }
    for (word, fields) in [("gone", gone), ("changed", changed)] {
        if !fields.is_empty() {
            message += &format!("; {word}: {}", fields.join(", "));
        }
    }
    message
}

/// Returns the canonical form without the fields that depend on the container's list.
fn comparable(mut container: Value) -> Value {
    let variables = container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten();
    let sources = variables.filter_map(|variable| variable.get_mut("valueFrom").and_then(Value::as_object_mut));
    for reference in sources.flat_map(|source| source.values_mut()).filter_map(Value::as_object_mut) {
        reference.shift_remove("optional");
    }
    if let Some(fields) = container.as_object_mut() {
        fields.shift_remove("restartPolicy");
    }
    canonicalize(&container)
}

/// Fields of the old container that the new one lacks, each with the setting that restores it, if there is one.
#[derive(Debug, Default, PartialEq)]
struct LostFields {
    gone: Vec<String>,
    changed: Vec<String>,
}

impl LostFields {
    /// Compares containers in canonical form.
    fn of(old: &Value, new: &Value) -> Self {
        let mut lost = Self::default();
        for Difference { kind, old: at, .. } in differences(old, new) {
            let tokens: Vec<&str> = at.split('/').skip(1).collect();
            let text = |pointer: String, field: &str| old.pointer(&pointer)?.get(field)?.as_str();
            let (label, is_inside) = match tokens[..] {
                ["name"] => continue,
                ["env", item, ..] => {
                    let name = text(format!("/env/{item}"), "name").unwrap_or("without a name");
                    let variable = VARIABLES.iter().find(|variable| variable.name == name);
                    let setting = variable.map_or("agent.env", |variable| variable.setting);
                    (format!("env {name} (`{setting}`)"), tokens.len() > 2)
                }
                ["volumeMounts", item, ..] => {
                    let path = text(format!("/volumeMounts/{item}"), "mountPath").unwrap_or("without a path");
                    (format!("the mount at {path}"), tokens.len() > 2)
                }
                [top, ..] => {
                    // Lists are replaced as a whole.
                    let fields = tokens.iter().copied().take_while(|token| token.parse::<usize>().is_err());
                    let path = fields.collect::<Vec<_>>().join(".");
                    match FIELDS.iter().find(|(field, _)| *field == top) {
                        Some((_, setting)) => (format!("{path} (`{setting}`)"), false),
                        None => (path, false),
                    }
                }
                [] => continue,
            };
            let list = match kind {
                DifferenceKind::Gone if !is_inside => &mut lost.gone,
                DifferenceKind::New if !is_inside => continue,
                _ => &mut lost.changed,
            };
            if !list.contains(&label) {
                list.push(label);
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::{FIELDS, LostFields, VARIABLES, comparable};
    use crate::config::{Config, TemplateConfig};
    use serde_json::json;

    #[test]
    fn losses_are_reported_by_name_and_setting() {
        let old = json!({
            "name": "agent", "image": "a:1", "command": ["x"], "tty": true,
            "env": [{"name": "MACKEREL_APIKEY", "value": "secret"}, {"name": "MACKEREL_ROLES", "value": "a:b"},
                {"name": "SAME", "value": "1"}, {"name": "OTHER", "value": "secret"}],
            "resources": {"limits": {"cpu": "1", "memory": "2"}, "requests": {"memory": "1"}},
            "volumeMounts": [{"mountPath": "/a", "name": "a"}, {"mountPath": "/b", "name": "b"}],
        });
        let new = json!({
            "name": "injected", "image": "a:2",
            "env": [{"name": "MACKEREL_APIKEY", "valueFrom": {}}, {"name": "SAME", "value": "1"}],
            "resources": {"limits": {"memory": "3"}, "requests": {"memory": "1"}},
            "volumeMounts": [{"mountPath": "/a", "name": "c"}],
        });
        let LostFields { gone, changed } = LostFields::of(&old, &new);
        assert_eq!(
            gone,
            [
                "command",
                "tty",
                "env MACKEREL_ROLES (`agent.roles`)",
                "env OTHER (`agent.env`)",
                "resources.limits.cpu (`agent.resources`)",
                "the mount at /b",
            ]
        );
        assert_eq!(
            changed,
            [
                "image (`agent.image`)",
                "env MACKEREL_APIKEY (`apiKey`)",
                "resources.limits.memory (`agent.resources`)",
                "the mount at /a",
            ]
        );
        assert_eq!(LostFields::of(&new, &new), LostFields::default());
    }

    #[test]
    fn what_its_list_demands_is_no_loss() {
        let key = |optional: bool| json!({"secretKeyRef": {"name": "a", "key": "b", "optional": optional}});
        let [native, container] = [(true, "Always"), (false, "")].map(|(optional, policy)| {
            let env = json!([{"name": "MACKEREL_APIKEY", "valueFrom": key(optional)}]);
            comparable(json!({"name": "agent", "restartPolicy": policy, "env": env}))
        });
        assert_eq!(native, container);
    }

    #[test]
    fn every_setting_that_is_named_exists() {
        let mut config = TemplateConfig::new(&Config::default());
        for path in VARIABLES.map(|variable| variable.setting).into_iter().chain(FIELDS.map(|(_, setting)| setting)) {
            let violations = config.set(path, "", "key", 0);
            assert!(violations.iter().all(|violation| !violation.what.contains("no setting")), "{path}");
        }
    }
}
