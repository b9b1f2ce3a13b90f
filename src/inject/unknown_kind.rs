//! `unknown-kind` and `unknown-template`: a pod template in a custom resource that is not known to hold one there.
//!
//! A user who annotates such a template expects an agent: the warning shows the line of configuration that would give it one.
//! With `injection: always`, other templates get a note, since most of these kinds belong to an operator.

use crate::agent::wait_for::asks_for_nothing;
use crate::agent::{ComponentKind, ComponentKinds};
use crate::config::{Config, InjectionMode};
use crate::decide::controller_owned::owned;
use crate::decide::{Decision, DecisionContext, decide};
use crate::inject::template_form::{path, with_containers};
use crate::mackerel::annotations::Annotation;
use crate::manifest::pod_template::PodTemplate;
use crate::manifest::resource::Resource;
use crate::manifest::workloads::FoundTemplate;
use crate::report::{Finding, Reason};
use yaml_json_patch::{Context, Tree, quote};

/// Returns true if an unknown kind may hold a template that gets an agent without a request. A document for which it returns
/// false need not be read.
pub(crate) fn may_be(kind: &str, api_version: Option<&str>, config: &Config) -> bool {
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
pub(crate) fn group(api_version: &str) -> &str {
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

/// An API group and a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupKind {
    pub(crate) group: String,
    pub(crate) kind: String,
}

impl GroupKind {
    /// Returns the group and kind of a resource; none if its `apiVersion` is malformed.
    pub(crate) fn of(resource: &Resource) -> Option<Self> {
        let gvk = resource.gvk.as_ref()?;
        Some(Self {
            group: gvk.group.clone(),
            kind: gvk.kind.clone(),
        })
    }

    /// Returns `its place in the kind App (example.com) is unknown`, of a pod template.
    fn place_is_unknown(&self) -> String {
        let group = match &*self.group {
            "" => "the core API group",
            group => group,
        };
        format!("its place in the kind {} ({group}) is unknown", self.kind)
    }

    /// Returns the advice to configure the paths of its pod templates.
    fn help(&self, paths: &[String]) -> String {
        if self.group.is_empty() {
            return "check its `apiVersion`; a custom kind has an API group, such as example.com/v1"
                .to_owned();
        }
        if self.group == CLOUD_RUN {
            return "Cloud Run has no kubelet for the agent".to_owned();
        }
        let mut entries = Vec::new();
        for path in paths {
            entries.push(format!(
                "{{group: {}, kind: {}, path: {}}}",
                quote(&self.group, Context::Flow),
                quote(&self.kind, Context::Flow),
                quote(path, Context::Flow),
            ));
        }
        format!(
            "add to the configuration, below `spec`: `podTemplates: [{}]`",
            entries.join(", ")
        )
    }
}

/// The most candidates per resource. Each costs a walk over the whole resource.
const MAX_CANDIDATES: usize = 100;

/// The most paths in the advice about one kind. A kind with more has no fixed form.
const MAX_PATHS: usize = 10;

/// A possible pod template, with the components that its annotations request.
struct Candidate {
    template: FoundTemplate,
    requests: Option<ComponentKinds>,
}

/// Returns the warning or note about the pod templates of a resource; none if the configuration would skip them at a known place.
pub(crate) fn unknown_kind(
    tree: &Tree<'_>,
    resource: &Resource,
    context: DecisionContext<'_>,
) -> Option<Finding> {
    let kind = GroupKind::of(resource)?;
    let candidates = candidates(tree, resource, context);
    let Candidate { template, requests } = candidates.first()?;
    let mut paths = Vec::new();
    for candidate in &candidates {
        // Items of one list have the same path.
        let path = path(tree, &candidate.template).to_string();
        if paths.len() < MAX_PATHS && !paths.contains(&path) {
            paths.push(path);
        }
    }
    let help = kind.help(&paths);
    Some(match requests {
        Some(components) => requesting(tree, template, *components, &kind).with_help(help),
        None => {
            let message = format!(
                "not injected: seems to have a pod template, but {}",
                kind.place_is_unknown()
            );
            let start = tree.place(template.node).start;
            Finding::new(Reason::UnknownTemplate, message, start, &template.pointer)
                .with_help(format!("if it has one, {help}"))
        }
    })
}

/// Returns the warning about a template that requests components.
fn requesting(
    tree: &Tree<'_>,
    template: &FoundTemplate,
    components: ComponentKinds,
    kind: &GroupKind,
) -> Finding {
    let annotation = match components.contains(ComponentKind::Agent) {
        true => Annotation::Inject,
        false => Annotation::WaitFor,
    };
    let view = PodTemplate::view(tree, template.node);
    let offset = match view.annotation(annotation.key()) {
        Some(annotation) => annotation.offset,
        None => tree.place(template.node).start,
    };
    let message = format!(
        "a pod template requests {}, but {}",
        components.subject(),
        kind.place_is_unknown()
    );
    Finding::new(Reason::UnknownKind, message, offset, &template.pointer)
}

/// Returns the possible templates in a resource that would get a component if their places were known, first those that request one.
fn candidates(
    tree: &Tree<'_>,
    resource: &Resource,
    context: DecisionContext<'_>,
) -> Vec<Candidate> {
    let (api_version, kind) = (&*resource.identity.api_version, &*resource.identity.kind);
    let is_injected_without_request =
        may_be(kind, Some(api_version), context.config) && owned(tree, resource).is_none();
    let mut candidates = Vec::new();
    for template in with_containers(tree, resource.node) {
        let requests = requests(tree, &template, context.config);
        // A resource that is its own template has no path that could be configured.
        let has_path = !template.pointer.is_empty();
        if has_path && (requests.is_some() || is_injected_without_request) {
            candidates.push(Candidate { template, requests });
        }
    }
    candidates.sort_by_key(|candidate| candidate.requests.is_none());
    candidates.truncate(MAX_CANDIDATES);
    candidates.retain(|candidate| is_wanted(tree, resource, candidate, context));
    candidates
}

/// Returns true if a template at a known place would not be skipped.
fn is_wanted(
    tree: &Tree<'_>,
    resource: &Resource,
    candidate: &Candidate,
    context: DecisionContext<'_>,
) -> bool {
    let Candidate { template, requests } = candidate;
    let view = PodTemplate::view(tree, template.node);
    match decide(tree, resource, &template.pointer, &view, context).decision {
        // The controller of a kind may complete the containers.
        Decision::Skip(skip) => {
            let mut containers = view.own_containers();
            skip.reason == Reason::Patch
                && resource.directive.is_none()
                && (requests.is_some() || containers.any(|one| one.image.is_some()))
        }
        Decision::Add(_) | Decision::Refuse(_) => true,
    }
}

/// Returns the components that the annotations of a possible template request.
fn requests(tree: &Tree<'_>, template: &FoundTemplate, config: &Config) -> Option<ComponentKinds> {
    let annotations = tree.member_at(template.node, ["metadata", "annotations"])?;
    let mut kinds = Vec::new();
    let inject = tree.member_text(annotations, Annotation::Inject.key());
    if inject.is_some_and(|inject| inject.eq_ignore_ascii_case("true")) {
        kinds.push(ComponentKind::Agent);
    }
    let hosts = tree.member_text(annotations, Annotation::WaitFor.key());
    if config.allows(Annotation::WaitFor) && hosts.is_some_and(|hosts| !asks_for_nothing(&hosts)) {
        kinds.push(ComponentKind::WaitFor);
    }
    let kinds = ComponentKinds::from_iter(kinds);
    (!kinds.is_empty()).then_some(kinds)
}
