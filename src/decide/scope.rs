//! `local-config`, `mirror-pod`, `disabled`, `namespace-excluded`, `not-selected`, `hook`: templates that are never injected, or
//! that `select` and `hooks` leave out.

use crate::config::{
    Exclusion, Hooks, InjectionMode, KindPattern, Select, Spec, is_system_namespace,
};
use crate::decide::Evaluation;
use crate::decide::controller_owned::owned;
use crate::manifest::release_tools::hook;
use crate::report::{Cause, Finding, Reason};

impl Evaluation<'_, '_> {
    /// Returns a finding for resources that are never injected, whatever their annotations request.
    pub(super) fn ineligible(&mut self) -> Option<Finding> {
        const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
        if self
            .resource
            .annotation_text(self.tree, LOCAL_CONFIG)
            .as_deref()
            == Some("true")
        {
            self.cause = self.cause_at_resource_annotation(LOCAL_CONFIG);
            return Some(self.finding(
                Reason::LocalConfig,
                "the resource is configuration of a local tool",
            ));
        }
        if let Some(mirror) = self.template.annotation("kubernetes.io/config.mirror") {
            self.cause = Some(self.cause_at_annotation(mirror));
            return Some(self.finding(
                Reason::MirrorPod,
                "a mirror pod cannot be changed through the API server",
            ));
        }
        if self.config.spec.injection == InjectionMode::Disabled {
            self.cause = Some(Cause::Setting(Spec::injection().path.into()));
            return Some(self.finding(Reason::Disabled, "`injection` is `disabled`"));
        }
        None
    }

    pub(super) fn not_selected(&mut self) -> Option<Finding> {
        let identity = &self.resource.identity;
        let select = &self.config.spec.select;
        let namespace = self.namespace();
        if let Some(namespace) = &namespace {
            if !select.system_namespaces && is_system_namespace(namespace) {
                self.cause = Some(Cause::Setting(Select::system_namespaces().path.into()));
                let message = format!("namespace {namespace} is a system namespace");
                let finding = self.finding(Reason::NamespaceExcluded, message);
                return Some(finding.with_help(format!(
                    "to include system namespaces, set `{}: true`",
                    Select::system_namespaces()
                )));
            }
            if select
                .exclude_namespaces
                .iter()
                .any(|pattern| pattern.matches(namespace))
            {
                let setting = Select::exclude_namespaces();
                self.cause = Some(Cause::Setting(setting.path.into()));
                let message = format!("namespace {namespace} is in `{setting}`");
                return Some(self.finding(Reason::NamespaceExcluded, message));
            }
        }
        if !select.namespaces.is_empty() {
            let setting = Select::namespaces();
            self.cause = Some(Cause::Setting(setting.path.into()));
            match &namespace {
                Some(namespace)
                    if select
                        .namespaces
                        .iter()
                        .any(|pattern| pattern.matches(namespace)) => {}
                Some(namespace) => {
                    let message = format!("namespace {namespace} is not in `{setting}`");
                    return Some(self.finding(Reason::NotSelected, message));
                }
                None => {
                    let message = format!("`{setting}` is set, but the resource has no namespace");
                    let warning = self.finding(Reason::NamespaceUnknown, message);
                    self.warnings.push(warning.with_help("set `--namespace`"));
                    return Some(self.finding(Reason::NotSelected, "its namespace is unknown"));
                }
            }
            self.cause = None;
        }
        if !select.kinds.is_empty() && !select.kinds.iter().any(|kind| self.is_kind(kind)) {
            let setting = Select::kinds();
            let message = format!("{} is not in `{setting}`", identity.kind);
            self.cause = Some(Cause::Setting(setting.path.into()));
            return Some(self.finding(Reason::NotSelected, message));
        }
        if !select.pod_selector.matches(&self.template.labels) {
            let setting = Select::pod_selector();
            self.cause = Some(Cause::Setting(setting.path.into()));
            return Some(self.finding(
                Reason::NotSelected,
                format!("the labels of the template do not match `{setting}`"),
            ));
        }
        let excluded = select
            .exclude
            .iter()
            .position(|exclusion| self.is_excluded(exclusion, namespace.as_deref()));
        if let Some(index) = excluded {
            let item = Select::exclude().item(index);
            let message = format!("`{item}` matches");
            self.cause = Some(Cause::Setting(item.into()));
            return Some(self.finding(Reason::NotSelected, message));
        }
        if self.config.spec.hooks == Hooks::Skip
            && let Some(hook) = hook(self.tree, self.resource)
        {
            self.cause = Some(Cause::Setting(Spec::hooks().path.into()));
            let finding = self.finding(Reason::Hook, hook);
            let help = "to inject hooks, set `hooks: inject`";
            return Some(finding.with_help(help));
        }
        None
    }

    pub(super) fn namespace(&self) -> Option<String> {
        self.resource
            .identity
            .namespace_or(self.config.spec.namespace.as_ref())
            .cloned()
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

    /// An exclusion by kind or group is about manifests. A pod with a controller comes from the manifest of another kind.
    fn is_excluded(&self, exclusion: &Exclusion, namespace: Option<&str>) -> bool {
        let identity = &self.resource.identity;
        let names_kind = exclusion.kind.is_some() || exclusion.group.is_some();
        let is_of_workload = || identity.kind == "Pod" && owned(self.tree, self.resource).is_some();
        !(names_kind && is_of_workload())
            && exclusion
                .group
                .as_deref()
                .is_none_or(|wanted| wanted == self.group())
            && exclusion
                .kind
                .as_deref()
                .is_none_or(|wanted| wanted == identity.kind)
            && exclusion
                .namespace
                .as_ref()
                .is_none_or(|wanted| namespace.is_some_and(|namespace| wanted.matches(namespace)))
            && exclusion
                .name
                .as_deref()
                .is_none_or(|wanted| wanted == identity.name)
            && exclusion.pod_selector.matches(&self.template.labels)
    }

    fn cause_at_resource_annotation(&self, key: &str) -> Option<Cause> {
        let value = self.resource.annotation(self.tree, key)?;
        let pointer = format!(
            "/metadata/annotations/{}",
            yaml_json_patch::pointer::escape(key)
        );
        Some(Cause::Manifest {
            offset: self.tree.place(value).start,
            pointer,
        })
    }
}
