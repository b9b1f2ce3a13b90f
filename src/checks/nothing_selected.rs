//! `nothing-selected`: a list of `select` that matches no pod template of the input. A misspelt name would select nothing in silence.

use crate::config::{Config, InjectionMode, Select};
use crate::diagnostic::closest::closest;
use crate::inject::unknown_kind::GroupKind;
use crate::manifest::identity::Identity;
use crate::report::{Finding, Reason};
use std::collections::BTreeSet;

/// The namespaces and kinds of the pod templates of a run.
#[derive(Debug, Default)]
pub struct TemplateNames {
    namespaces: BTreeSet<String>,
    kinds: BTreeSet<GroupKind>,
    /// True if the namespace of a pod template is unknown, so that a list of namespaces may match it.
    has_unknown_namespace: bool,
}

/// A list that matches nothing.
#[derive(Debug)]
pub struct UnmatchedList {
    /// The place of the list: `agent-injector.yaml:5:12`.
    pub origin: String,
    pub finding: Finding,
    /// True if the input has a namespace that resembles one of the list.
    pub is_misspelt: bool,
}

impl TemplateNames {
    /// Adds the resource of a pod template.
    pub fn add(&mut self, identity: &Identity, config: &Config) {
        let select = &config.spec.select;
        if select.kinds.is_empty() && select.namespaces.is_empty() {
            return;
        }
        match identity.namespace_or(config.spec.namespace.as_deref()) {
            Some(namespace) => _ = self.namespaces.insert(namespace.clone()),
            None => self.has_unknown_namespace = true,
        }
        let group = identity.api_version.rsplit_once('/');
        self.kinds.insert(GroupKind {
            group: group.map_or_else(String::new, |(group, _)| group.to_owned()),
            kind: identity.kind.clone(),
        });
    }

    /// Returns the lists of `select` that match none of the pod templates.
    pub fn unmatched_lists(&self, config: &Config) -> Vec<UnmatchedList> {
        let mut lists = Vec::new();
        if self.kinds.is_empty() || config.spec.injection == InjectionMode::Disabled {
            return lists;
        }
        let Select {
            kinds, namespaces, ..
        } = &config.spec.select;
        let is_selected_kind = |name: &GroupKind| {
            let mut patterns = kinds.iter();
            patterns.any(|pattern| pattern.matches(&name.group, &name.kind))
        };
        if !kinds.is_empty() && !self.kinds.iter().any(is_selected_kind) {
            // A kind that does not exist is an error of the configuration.
            lists.push(unmatched("select.kinds", None, config));
        }
        let is_selected_namespace = |name: &String| {
            let mut patterns = namespaces.iter();
            patterns.any(|pattern| pattern.matches(name))
        };
        if !namespaces.is_empty()
            && !self.has_unknown_namespace
            && !self.namespaces.iter().any(is_selected_namespace)
        {
            let near = namespaces.iter().find_map(|pattern| {
                closest(&pattern.0, self.namespaces.iter().map(String::as_str))
            });
            lists.push(unmatched("select.namespaces", near, config));
        }
        lists
    }
}

fn unmatched(path: &str, near: Option<&str>, config: &Config) -> UnmatchedList {
    let message = format!("`{path}` matches no pod template of the input");
    let mut finding = Finding::about_input(Reason::NothingSelected, message);
    if let Some(name) = near {
        finding = finding.with_help(format!("did you mean `{name}`?"));
    }
    UnmatchedList {
        origin: config.origin(path).to_string(),
        finding,
        is_misspelt: near.is_some(),
    }
}
