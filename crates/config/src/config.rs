//! The settings with their origins.

use crate::read::type_at;
use crate::values::{self, MERGED};
use crate::{Origin, Spec, kubernetes};
use manifest::{PathRest, Table, WorkloadKind, dotted_path as path};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};

/// The validated configuration: the settings, and the [`Origin`] of each explicit one. Made by [`load()`](crate::load()).
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `metadata.name` of the configuration object. Default: `default`.
    pub name: String,
    pub spec: Spec,
    /// Origins of the explicit settings, by dotted path below `spec`, and of the items of lists: `agent.env[0]`.
    pub(crate) origins: BTreeMap<String, Origin>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            name: "default".to_owned(),
            spec: Spec::default(),
            origins: BTreeMap::new(),
        }
    }
}

impl Config {
    /// `metadata.name` of the configuration object. Default: `default`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the origin of a setting's value, by its dotted path below `spec`, such as `agent.image`.
    ///
    /// A setting also counts as set if a part of it is (`agent.resources` by `agent.resources.limits`), or the group that it
    /// belongs to (`select.podSelector.matchLabels.app` by `select.podSelector`).
    #[must_use]
    pub fn origin(&self, path: &str) -> &Origin {
        let whole = path::ends(path).find_map(|end| self.origins.get(&path[..end]));
        let part = || {
            self.origins
                .range::<str, _>((Included(path), Unbounded))
                .take_while(|(set, _)| set.starts_with(path))
                .find(|(set, _)| path::is_at_or_below(set, path))
                .map(|(_, origin)| origin)
        };
        whole.or_else(part).unwrap_or(&Origin::Default)
    }

    /// Returns the kinds with pod templates: the built-in ones and those of `podTemplates`.
    pub fn workloads(&self) -> Table<'_> {
        Table::new(self.spec.pod_templates.iter().map(|place| WorkloadKind {
            group: &place.group,
            kind: &place.kind,
            path: PathRest::Configured(&place.path.steps),
            completes: place.completes,
        }))
    }

    /// Returns true if the configuration, `--set` or an annotation sets the setting, even with the default's value. Explicit
    /// values overwrite manual changes to an injected agent; defaults do not (`value-kept`).
    #[must_use]
    pub fn is_explicit(&self, path: &str) -> bool {
        *self.origin(path) != Origin::Default
    }

    /// Returns true if an annotation sets the setting, or the item of a list.
    pub fn is_annotated(&self, path: &str) -> bool {
        matches!(self.origin(path), Origin::Annotation { .. })
    }

    /// Returns what a user should know about the settings, as a sentence.
    pub fn note(&self) -> Option<&'static str> {
        let resources = &self.spec.agent.resources;
        // A limit is the default of the request.
        let has_request = [&resources.requests, &resources.limits]
            .into_iter()
            .flatten()
            .any(|amounts| amounts.contains_key("cpu"));
        (!has_request).then_some(
            "`agent.resources.requests.cpu` is null: an autoscaler on CPU utilization needs a request of every container",
        )
    }

    /// Returns the explicit settings by dotted path below `spec`, in the order of the paths.
    pub fn explicit(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.origins
            .iter()
            .map(|(path, origin)| (path.as_str(), origin))
            .filter(|(path, _)| !path.ends_with(']'))
    }

    /// Returns true for the name of a setting, or of a group of settings, right below `spec`.
    pub fn has_setting(name: &str) -> bool {
        type_at::<Spec>(&[name.to_owned()]).is_ok()
    }

    /// Returns true for the dotted path of a setting, or of a group of settings, below `spec`.
    pub fn knows(path: &str) -> bool {
        type_at::<Spec>(&path::parts(path)).is_ok()
    }

    /// Returns every setting without settings below it, with its value and origin, in the order of the reference.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, Json, &Origin)> {
        let mut found = Vec::new();
        self.parts(String::new(), self.values(), &mut found);
        found
    }

    /// Returns the values of all settings as a configuration would write them.
    pub fn values(&self) -> Json {
        let mut values = json!(self.spec);
        for path in MERGED {
            // `{}` would be merged with the default.
            if let Some(value) = values.pointer_mut(&kubernetes::pointer(path))
                && *value == json!({})
            {
                *value = Json::Null;
            }
        }
        for list in ["/select/exclude", "/select/podSelector/matchExpressions"] {
            if let Some(items) = values.pointer_mut(list).and_then(Json::as_array_mut) {
                for item in items {
                    *item = without_empty(item.take());
                }
            }
        }
        values
    }

    /// Adds a line for each part of a mapping: requests and limits may have different origins.
    fn parts<'c>(&'c self, path: String, value: Json, found: &mut Vec<(String, Json, &'c Origin)>) {
        match value {
            Json::Object(parts) if !parts.is_empty() => {
                for (part, value) in parts {
                    self.parts(values::join(&path, &part), value, found);
                }
            }
            value => {
                let origin = self.origin(&path);
                found.push((path, value, origin));
            }
        }
    }

    /// Returns the value of a setting, by its dotted path below `spec`, as a configuration would write it; `null` if it is
    /// unset, and `None` if there is no such setting.
    #[must_use]
    pub fn value(&self, path: &str) -> Option<Json> {
        Self::knows(path).then(|| value_at(&self.values(), path))
    }
}

/// Returns the value at a dotted path; null if there is none.
pub fn value_at(values: &Json, path: &str) -> Json {
    path::parts(path)
        .into_iter()
        .try_fold(values, |value, part| value.get(part))
        .cloned()
        .unwrap_or_default()
}

/// Removes members that are null or empty.
pub fn without_empty(mut json: Json) -> Json {
    if let Some(members) = json.as_object_mut() {
        for member in members.values_mut() {
            *member = without_empty(member.take());
        }
        members.retain(|_, value| !value.is_null() && *value != json!({}) && *value != json!([]));
    }
    json
}
