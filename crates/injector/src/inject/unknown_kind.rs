//! `unknown-kind` and `unknown-template`: a pod template in a custom resource that is not known to hold one there.
//!
//! A user who annotates such a template expects an agent: the warning shows the line of configuration that would give it one.
//! With `injection: always`, other templates get a note, since most of these kinds belong to an operator.

use crate::agent::wait_for::asks_for_nothing;
use crate::decide::controller_owned::owned;
use crate::decide::{Decision, DecisionContext, decide};
use crate::inject::template_form::{path, with_containers};
use config::{Config, InjectionMode, TemplatePath};
use kube_core::GroupVersionKind;
use mackerel::annotations::Annotation;
use manifest::{FoundTemplate, PodTemplate, Resource};
use report::{Finding, Reason};
use yaml_json_patch::{Context, NodeId, Tree, quote};

/// Returns true if an unknown kind may hold a template that gets an agent without a request. A document for which it returns
/// false need not be read.
pub fn may_be(kind: &str, api_version: Option<&str>, config: &Config) -> bool {
    if config.spec.injection != InjectionMode::Always || is_well_known(kind) {
        return false;
    }
    let Some(api_version) = api_version else {
        return true;
    };
    let group = group(api_version);
    group.contains('.') && !is_for_tools(group)
}

/// Returns true for the most frequent kinds of Kubernetes that are no workloads.
fn is_well_known(kind: &str) -> bool {
    matches!(kind, "Service" | "ConfigMap" | "Secret")
}

/// Returns the API group of an `apiVersion`.
pub fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The API group of Cloud Run's jobs, whose containers run outside of Kubernetes.
const CLOUD_RUN: &str = "run.googleapis.com";

/// Returns true for API groups whose resources hold pod templates as schemas, patterns or patches, in manifests that a tool
/// completes, or for containers outside of Kubernetes.
fn is_for_tools(group: &str) -> bool {
    const GROUPS: [&str; 9] = [
        "apiextensions.k8s.io",
        "helm.toolkit.fluxcd.io",
        "kustomize.config.k8s.io",
        "kustomize.toolkit.fluxcd.io",
        "kyverno.io",
        "operators.coreos.com",
        "policy.open-cluster-management.io",
        CLOUD_RUN,
        "template.openshift.io",
    ];
    GROUPS.contains(&group) || group.ends_with(".kyverno.io")
}

/// The most candidates per resource. Each costs a walk over the whole resource.
const MAX_CANDIDATES: usize = 100;

/// The most paths in the advice about one kind. A kind with more has no fixed form.
const MAX_PATHS: usize = 10;

/// Returns the warning or note about the pod templates of a resource; none if the configuration would skip them at a known place.
pub fn unknown_kind(
    tree: &Tree<'_>,
    resource: &Resource,
    context: DecisionContext<'_>,
) -> Option<Finding> {
    let gvk = resource.gvk.as_ref()?;
    let (api_version, kind) = (&resource.identity.api_version, &resource.identity.kind);
    let is_injected_without_request =
        may_be(kind, Some(api_version), context.config) && owned(tree, resource).is_none();
    let mut templates = Vec::new();
    for template in with_containers(tree, resource.node) {
        let request = request(tree, &template, context.config);
        // A resource that is its own template has no path that could be configured.
        if !template.pointer.is_empty() && (request.is_some() || is_injected_without_request) {
            templates.push((template, request));
        }
    }
    templates.sort_by_key(|(_, request)| request.is_none());
    templates.truncate(MAX_CANDIDATES);
    templates.retain(|(template, request)| {
        is_wanted(tree, resource, template, request.is_some(), context)
    });
    let (template, request) = templates.first()?;
    let group = if gvk.group.is_empty() {
        "the core API group"
    } else {
        &gvk.group
    };
    let place = format!(
        "but its place in the kind {} ({group}) is unknown",
        gvk.kind
    );
    let mut paths = Vec::new();
    for (template, _) in &templates {
        // Items of one list have the same path.
        let path = path(tree, template);
        if paths.len() < MAX_PATHS && !paths.contains(&path) {
            paths.push(path);
        }
    }
    let help = help(gvk, &paths);
    let (reason, message, node, help) = match request {
        Some(key) => (
            Reason::UnknownKind,
            format!("a pod template requests injection, {place}"),
            *key,
            help,
        ),
        None => (
            Reason::UnknownTemplate,
            format!("not injected: seems to have a pod template, {place}"),
            template.node,
            format!("if it has one, {help}"),
        ),
    };
    let offset = tree.place(node).start;
    Some(Finding::new(reason, message, offset, &template.pointer).with_help(help))
}

/// Returns the advice to configure the paths of pod templates.
fn help(gvk: &GroupVersionKind, paths: &[TemplatePath]) -> String {
    match &*gvk.group {
        "" => "check its `apiVersion`; a custom kind has an API group, such as example.com/v1"
            .to_owned(),
        CLOUD_RUN => "Cloud Run has no kubelet for the agent".to_owned(),
        group => {
            let quoted = |text: &str| quote(text, Context::Flow).into_owned();
            let entry = |path: &TemplatePath| {
                let (group, kind) = (quoted(group), quoted(&gvk.kind));
                let path = quoted(&path.to_string());
                format!("{{group: {group}, kind: {kind}, path: {path}}}")
            };
            let entries = Vec::from_iter(paths.iter().map(entry));
            format!(
                "add to the configuration, below `spec`: `podTemplates: [{}]`",
                entries.join(", ")
            )
        }
    }
}

/// Returns true if a template at a known place would not be skipped.
fn is_wanted(
    tree: &Tree<'_>,
    resource: &Resource,
    template: &FoundTemplate,
    is_requested: bool,
    context: DecisionContext<'_>,
) -> bool {
    let view = PodTemplate::view(tree, template.node);
    match decide(tree, resource, &template.pointer, &view, context).decision {
        // The controller of a kind may complete the containers.
        Decision::Skip(skip) => {
            skip.reason == Reason::Patch
                && resource.directive.is_none()
                && (is_requested || view.own_containers().any(|one| one.image.is_some()))
        }
        Decision::Add(_) | Decision::Refuse(_) => true,
    }
}

/// Returns the annotation by which a possible template requests a component.
fn request(tree: &Tree<'_>, template: &FoundTemplate, config: &Config) -> Option<NodeId> {
    let metadata = tree.member(template.node, "metadata")?;
    let is_asked = |annotation: Annotation, value: &str| match annotation {
        Annotation::Inject => value.eq_ignore_ascii_case("true"),
        _ => config.allows(annotation) && !asks_for_nothing(value),
    };
    let is_request = |annotation: Annotation, key, value| {
        tree.scalar(key).is_some_and(|key| key == annotation.key())
            && tree
                .scalar(tree.alias_target(value))
                .is_some_and(|value| is_asked(annotation, &value))
    };
    [Annotation::Inject, Annotation::WaitFor]
        .into_iter()
        .find_map(|annotation| {
            tree.member_entries(metadata, "annotations")
                .find(|(key, value)| is_request(annotation, *key, *value))
                .map(|(key, _)| key)
        })
}
