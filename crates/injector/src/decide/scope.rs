//! `local-config`, `mirror-pod`, `disabled`, `namespace-excluded`, `not-selected`, `hook`: templates that are never injected, or
//! that `select` and `hooks` leave out.

use crate::decide::controller_owned::owned;
use crate::decide::{Evaluation, NoAgent};
use config::{Exclusion, Hooks, InjectionMode, KindPattern, NamespacePattern, is_system_namespace};
use manifest::release_tools::hook;
use report::{Cause, Reason};
use std::borrow::Cow;
use yaml_json_patch::pointer::escape;

impl Evaluation<'_, '_> {
    /// Skips resources that are never injected, whatever their annotations request.
    pub(super) fn eligible(&self) -> Result<(), NoAgent> {
        self.not_local_config()?;
        if let Some(mirror) = self.template.annotation("kubernetes.io/config.mirror") {
            let message = "a mirror pod cannot be changed through the API server";
            let finding = self.finding(Reason::MirrorPod, message);
            return Err(NoAgent::skip(finding).caused_by(self.cause_at_annotation(mirror)));
        }
        if self.config.spec.injection == InjectionMode::Disabled {
            let finding = self.finding_without_details(Reason::Disabled);
            return Err(NoAgent::skip(finding).caused_by_setting("injection"));
        }
        Ok(())
    }

    fn not_local_config(&self) -> Result<(), NoAgent> {
        let key = "config.kubernetes.io/local-config";
        let text = self.resource.annotation_text(self.tree, key);
        match self.resource.annotation(self.tree, key) {
            Some(value) if text.as_deref() == Some("true") => {
                let message = "the resource is configuration of a local tool";
                let finding = self.finding(Reason::LocalConfig, message);
                let cause = Cause::Manifest {
                    offset: self.tree.place(value).start,
                    pointer: format!("/metadata/annotations/{}", escape(key)),
                };
                Err(NoAgent::skip(finding).caused_by(cause))
            }
            _ => Ok(()),
        }
    }

    /// Skips templates that `select` and `hooks` leave out.
    pub(super) fn selected(&mut self) -> Result<(), NoAgent> {
        let select = &self.config.spec.select;
        let namespace = self.namespace();
        match &namespace {
            Some(namespace) => self.selected_namespace(namespace)?,
            None if !select.namespaces.is_empty() => {
                let setting = "select.namespaces";
                let message = format!("`{setting}` is set, but the resource has no namespace");
                let warning = self.finding(Reason::NamespaceUnknown, message).with_help(
                    "set `--namespace`; if a kustomization sets the namespace, use `-k`, a configuration in its directory, or `select.podSelector`",
                );
                self.warnings.push(warning);
                return Err(self.not_selected(setting, "its namespace is unknown"));
            }
            None => {}
        }
        if !select.kinds.is_empty() && !select.kinds.iter().any(|kind| self.is_kind(kind)) {
            let setting = "select.kinds";
            let message = format!("{} is not in `{setting}`", self.resource.identity.kind);
            return Err(self.not_selected(setting, message));
        }
        if !select.pod_selector.matches(&self.template.labels) {
            let setting = "select.podSelector";
            let message = format!("the labels of the template do not match `{setting}`");
            return Err(self.not_selected(setting, message));
        }
        for (index, exclusion) in select.exclude.iter().enumerate() {
            if self.is_excluded(exclusion, namespace.as_deref()) {
                let item = format!("select.exclude[{index}]");
                let message = format!("`{item}` matches");
                return Err(self.not_selected(item, message));
            }
        }
        if self.config.spec.hooks == Hooks::Skip
            && let Some(hook) = hook(self.tree, self.resource)
        {
            let finding = self
                .finding(Reason::Hook, hook)
                .with_help("to inject hooks, set `hooks: inject`");
            return Err(NoAgent::skip(finding).caused_by_setting("hooks"));
        }
        Ok(())
    }

    fn selected_namespace(&self, namespace: &str) -> Result<(), NoAgent> {
        let select = &self.config.spec.select;
        if !select.system_namespaces && is_system_namespace(namespace) {
            let setting = "select.systemNamespaces";
            let message = format!("namespace {namespace} is a system namespace");
            let help = format!("to include system namespaces, set `{setting}: true`");
            let finding = self
                .finding(Reason::NamespaceExcluded, message)
                .with_help(help);
            return Err(NoAgent::skip(finding).caused_by_setting(setting));
        }
        let matches = |patterns: &[NamespacePattern]| {
            patterns.iter().any(|pattern| pattern.matches(namespace))
        };
        if matches(&select.exclude_namespaces) {
            let setting = "select.excludeNamespaces";
            let message = format!("namespace {namespace} is in `{setting}`");
            let finding = self.finding(Reason::NamespaceExcluded, message);
            return Err(NoAgent::skip(finding).caused_by_setting(setting));
        }
        if !select.namespaces.is_empty() && !matches(&select.namespaces) {
            let setting = "select.namespaces";
            let message = format!("namespace {namespace} is not in `{setting}`");
            return Err(self.not_selected(setting, message));
        }
        Ok(())
    }

    fn not_selected(
        &self,
        setting: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> NoAgent {
        let finding = self.finding(Reason::NotSelected, message);
        NoAgent::skip(finding).caused_by_setting(setting)
    }

    pub(super) fn namespace(&self) -> Option<String> {
        let default = self.config.spec.namespace.as_deref();
        self.resource.identity.namespace_or(default).cloned()
    }

    pub(super) fn group(&self) -> &str {
        self.resource
            .gvk
            .as_ref()
            .map_or("", |gvk| gvk.group.as_str())
    }

    fn is_kind(&self, pattern: &KindPattern) -> bool {
        pattern.matches(self.group(), &self.resource.identity.kind)
    }

    /// Returns true if an exclusion matches. One by kind or group is about manifests: a pod with a controller comes from the
    /// manifest of another kind.
    fn is_excluded(&self, exclusion: &Exclusion, namespace: Option<&str>) -> bool {
        let Exclusion {
            group, kind, name, ..
        } = exclusion;
        let identity = &self.resource.identity;
        let names_kind = kind.is_some() || group.is_some();
        if names_kind && identity.kind == "Pod" && owned(self.tree, self.resource).is_some() {
            return false;
        }
        let in_namespace = match (&exclusion.namespace, namespace) {
            (Some(pattern), Some(namespace)) => pattern.matches(namespace),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let is_group = group.as_deref().is_none_or(|group| group == self.group());
        let is_kind = kind.as_deref().is_none_or(|kind| *kind == identity.kind);
        let is_name = name.as_deref().is_none_or(|name| *name == identity.name);
        is_group
            && is_kind
            && in_namespace
            && is_name
            && exclusion.pod_selector.matches(&self.template.labels)
    }
}
