//! `unknown-kind` and `unknown-template`: a pod template in a custom resource that is not known to hold one there.
//!
//! A user who annotates such a template expects an agent: the warning shows the line of configuration that would give it one.
//! With `injection: always`, other templates get a note, since most of these kinds belong to an operator.

use crate::agent::wait_for::asks_for_nothing;
use crate::agent::{ComponentKind, ComponentKinds};
use crate::config::{Config, InjectionMode};
use crate::decide::controller_owned::owned;
use crate::decide::{Decision, DecisionContext, decide};
use crate::inject::template_form::{MAX_CANDIDATES, PossibleTemplate, has_record, with_containers};
use crate::mackerel::annotations::{Annotation, PREFIX};
use crate::manifest::pod_template::{PodTemplate, completes_by_policy};
use crate::manifest::resource::Resource;
use crate::manifest::strategic_merge::{self, Images};
use crate::manifest::workloads::{FoundTemplate, containers};
use crate::report::{Finding, Reason};
use memchr::memmem::Finder;
use std::collections::HashSet;
use std::sync::LazyLock;
use yaml_json_patch::{Context, NodeId, Tree, quote};

/// Finds the prefix that all annotations have.
static PREFIX_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(PREFIX));

/// Finds requests in templates of unknown kinds.
pub(crate) static REQUESTS: LazyLock<KeySearch> =
    LazyLock::new(|| KeySearch::new(&[Annotation::Inject, Annotation::WaitFor]));

/// Finds agents of earlier runs in templates at unknown places.
pub(crate) static RECORDS: LazyLock<KeySearch> =
    LazyLock::new(|| KeySearch::new(&[Annotation::Record]));

/// A search for annotations in a text. A document without them need not be read for them.
pub(crate) struct KeySearch {
    keys: Vec<Finder<'static>>,
}

/// Returns a text from its first annotation on; nothing of a text without one. Most texts have none, so that one search tells it for
/// all annotations.
pub(crate) fn from_first_annotation(text: &str) -> &str {
    let first = PREFIX_FINDER.find(text.as_bytes());
    first.map_or("", |first| &text[first..])
}

impl KeySearch {
    fn new(annotations: &[Annotation]) -> Self {
        let keys = annotations.iter().map(|one| Finder::new(one.key()));
        Self {
            keys: keys.collect(),
        }
    }

    /// Returns false if none of them is in the text.
    pub(crate) fn may_find(&self, text: &str) -> bool {
        let mut keys = self.keys.iter();
        keys.any(|key| key.find(text.as_bytes()).is_some())
    }

    /// Returns the number of their occurrences in the text.
    pub(crate) fn count(&self, text: &str) -> usize {
        let keys = self.keys.iter();
        keys.map(|key| key.find_iter(text.as_bytes()).count()).sum()
    }
}

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

/// Returns true for a custom resource. Its group has a dot; the groups of Kubernetes that have one hold no workloads.
pub(crate) fn is_custom(resource: &Resource) -> bool {
    let gvk = resource.gvk.as_ref();
    gvk.is_some_and(|gvk| gvk.group.contains('.'))
}

/// Returns the API group of an `apiVersion`.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns true for API groups whose resources hold pod templates as schemas, patterns or patches, or in manifests that a tool
/// completes.
fn is_for_tools(group: &str) -> bool {
    const GROUPS: [&str; 8] = [
        "apiextensions.k8s.io",
        "helm.toolkit.fluxcd.io",
        "kustomize.config.k8s.io",
        "kustomize.toolkit.fluxcd.io",
        "kyverno.io",
        "operators.coreos.com",
        "policy.open-cluster-management.io",
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

    /// Returns `the kind App (example.com) is unknown`.
    fn is_unknown(&self) -> String {
        let group = match &*self.group {
            "" => "the core API group",
            group => group,
        };
        format!("the kind {} ({group}) is unknown", self.kind)
    }

    fn help(&self, places: &[TemplatePlace]) -> String {
        if self.group.is_empty() {
            return "check its `apiVersion`; a custom kind has an API group, such as example.com/v1"
                .to_owned();
        }
        format!("add to the configuration: `{}`", self.setting(places))
    }

    /// Returns `podTemplates: [{group: example.com, kind: App, path: spec.template}]`.
    pub(crate) fn setting(&self, places: &[TemplatePlace]) -> String {
        let mut entries = Vec::new();
        for TemplatePlace { path, completes } in places {
            entries.push(format!(
                "{{group: {}, kind: {}, path: {}{}}}",
                quote(&self.group, Context::Flow),
                quote(&self.kind, Context::Flow),
                quote(path, Context::Flow),
                if *completes { ", completes: true" } else { "" }
            ));
        }
        format!("podTemplates: [{}]", entries.join(", "))
    }
}

/// Resources of one unknown kind that seem to hold pod templates. They are one note, at the first of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnknownTemplates {
    pub(crate) kind: GroupKind,
    resources: usize,
    places: Vec<TemplatePlace>,
}

/// A place of pod templates in resources of one kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TemplatePlace {
    path: String,
    /// Its pods seem to run to completion.
    completes: bool,
}

/// The most paths in the advice about one kind. A kind with more has no fixed form.
const MAX_PATHS: usize = 10;

/// Returns the places of templates in a resource of this kind.
pub(crate) fn places<'f>(
    tree: &Tree<'_>,
    kind: &GroupKind,
    templates: impl IntoIterator<Item = &'f PossibleTemplate>,
) -> Vec<TemplatePlace> {
    let mut places = Vec::new();
    for template in templates {
        let holder = template.ancestors.last();
        let completes = holder
            .and_then(|holder| completes_by_policy(tree, *holder))
            .unwrap_or_else(|| is_named_after_work(&kind.kind));
        let path = template.path.to_string();
        add_place(&mut places, TemplatePlace { path, completes });
    }
    places
}

/// Adds a place, unless it is known or there are too many. Items of one list have the same path.
fn add_place(places: &mut Vec<TemplatePlace>, place: TemplatePlace) {
    if let Some(known) = places.iter_mut().find(|known| known.path == place.path) {
        known.completes |= place.completes;
    } else if places.len() < MAX_PATHS {
        places.push(place);
    }
}

impl UnknownTemplates {
    /// Adds later resources of the same kind.
    pub(crate) fn absorb(&mut self, later: Self) {
        self.resources += later.resources;
        for place in later.places {
            add_place(&mut self.places, place);
        }
    }

    pub(crate) fn message(&self) -> String {
        let resources = match self.resources {
            1 => String::new(),
            resources => format!(" in {resources} resources"),
        };
        format!(
            "not injected: {}, but seems to have a pod template{resources}",
            self.kind.is_unknown()
        )
    }

    pub(crate) fn help(&self) -> String {
        format!("if it has one, {}", self.kind.help(&self.places))
    }
}

/// A warning or note about the pod templates of a resource of an unknown kind.
pub(crate) struct UnknownKind {
    pub(crate) finding: Finding,
    /// The resources that the note counts; none for a warning.
    pub(crate) templates: Option<UnknownTemplates>,
}

/// A possible pod template, with the components that its annotations request.
struct Candidate {
    template: PossibleTemplate,
    requests: Option<ComponentKinds>,
}

/// Returns the warning or note about the pod templates of a resource that are not `known`; none if the configuration would
/// skip them at a known place.
pub(crate) fn unknown_kind(
    tree: &Tree<'_>,
    resource: &Resource,
    known: &[FoundTemplate],
    context: DecisionContext<'_>,
) -> Option<UnknownKind> {
    let kind = GroupKind::of(resource)?;
    let candidates = candidates(tree, resource, known, context);
    let templates = candidates.iter().map(|candidate| &candidate.template);
    let places = places(tree, &kind, templates);
    for Candidate { template, requests } in &candidates {
        if let Some(components) = *requests {
            let finding = requesting(tree, template, components, &kind);
            return Some(UnknownKind {
                finding: finding.with_help(kind.help(&places)),
                templates: None,
            });
        }
    }
    let first = &candidates.first()?.template;
    let templates = UnknownTemplates {
        kind,
        resources: 1,
        places,
    };
    let (message, start) = (templates.message(), tree.place(first.node).start);
    let finding = Finding::new(Reason::UnknownTemplate, message, start, &first.pointer);
    Some(UnknownKind {
        finding: finding.with_help(templates.help()),
        templates: Some(templates),
    })
}

/// Returns the warning about a template that requests components.
fn requesting(
    tree: &Tree<'_>,
    template: &PossibleTemplate,
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
        kind.is_unknown()
    );
    Finding::new(Reason::UnknownKind, message, offset, &template.pointer)
}

/// Returns the possible templates in a resource that would get a component if their places were known.
fn candidates(
    tree: &Tree<'_>,
    resource: &Resource,
    known: &[FoundTemplate],
    context: DecisionContext<'_>,
) -> Vec<Candidate> {
    let (api_version, kind) = (&*resource.identity.api_version, &*resource.identity.kind);
    let is_injected_without_request =
        may_be(kind, Some(api_version), context.config) && owned(tree, resource).is_none();
    let known = known.iter().map(|found| tree.alias_target(found.node));
    let known: HashSet<NodeId> = known.collect();
    let mut candidates = Vec::new();
    let mut others = Vec::new();
    for template in with_containers(tree, resource.node) {
        // A resource that is its own template has no path that could be configured. An agent of an earlier run has its own
        // warning.
        let has_path = !template.path.steps.is_empty();
        if !has_path || has_record(tree, template.node) || known.contains(&template.node) {
            continue;
        }
        let requests = requests(tree, template.node, context.config);
        let candidate = Candidate { template, requests };
        if requests.is_some() {
            candidates.push(candidate);
        } else if is_injected_without_request {
            others.push(candidate);
        }
    }
    candidates.append(&mut others);
    candidates.truncate(MAX_CANDIDATES);
    candidates.sort_by_key(|candidate| tree.place(candidate.template.node).start);
    candidates.retain(|Candidate { template, requests }| {
        (requests.is_some() || names_an_image(tree, template.node))
            && is_wanted(tree, resource, template, context)
    });
    candidates
}

/// Returns true if a template at a known place would not be skipped.
fn is_wanted(
    tree: &Tree<'_>,
    resource: &Resource,
    template: &PossibleTemplate,
    context: DecisionContext<'_>,
) -> bool {
    let view = PodTemplate::view(tree, template.node);
    match decide(tree, resource, &template.pointer, &view, context).decision {
        // Once the kind is known, its controller may complete the containers.
        Decision::Skip(skip) if skip.reason == Reason::Patch => {
            strategic_merge::evidence(tree, resource, &view, Images::Optional).is_none()
        }
        Decision::Skip(_) => false,
        Decision::Add(_) | Decision::Refuse(_) => true,
    }
}

/// Returns true if a container has a name and an image: it is complete.
fn names_an_image(tree: &Tree<'_>, template: NodeId) -> bool {
    let Some(list) = containers(tree, template) else {
        return false;
    };
    tree.items(list).any(|item| {
        tree.member_text(item, "name").is_some() && tree.member_text(item, "image").is_some()
    })
}

/// Returns true if one of the words in the name of a kind stands for work that ends.
fn is_named_after_work(kind: &str) -> bool {
    for word in ["Job", "Run", "Task", "Workflow"] {
        for rest in kind.split(word).skip(1) {
            if !rest.starts_with(|next: char| next.is_ascii_lowercase()) {
                return true;
            }
        }
    }
    false
}

/// Returns the components that the annotations of a possible template request.
fn requests(tree: &Tree<'_>, template: NodeId, config: &Config) -> Option<ComponentKinds> {
    let annotations = tree.member(tree.member(template, "metadata")?, "annotations")?;
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
