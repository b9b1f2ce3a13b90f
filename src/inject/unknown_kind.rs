//! `unknown-kind` and `unknown-template`: a pod template in a custom resource that is not known to hold one there.
//!
//! A user who annotates such a template expects an agent: the warning shows the line of configuration that would give it one.
//! With `injection: always`, other templates get a note, since most of these kinds belong to an operator.

use crate::agent::wait_for::asks_for_nothing;
use crate::agent::{ComponentKind, ComponentKinds};
use crate::config::{Config, InjectionMode};
use crate::decide::controller_owned::owned;
use crate::decide::{Decision, DecisionContext, decide};
use crate::inject::template_form::{Formed, MAX_CANDIDATES, formed, has_record};
use crate::mackerel::annotations::Annotation;
use crate::manifest::pod_template::{PodTemplate, completes_by_policy};
use crate::manifest::resource::{Resource, text};
use crate::manifest::strategic_merge::{self, Images};
use crate::manifest::workloads::{FoundTemplate, containers};
use crate::report::{Finding, Reason};
use memchr::memmem::Finder;
use std::collections::HashSet;
use yaml_json_patch::{Context, NodeId, Tree, quote};

/// A search for annotations in a text, so that nothing is read for them in vain.
#[derive(Debug)]
pub(crate) struct KeySearch {
    keys: Vec<Finder<'static>>,
    anywhere: bool,
}

impl KeySearch {
    /// One look at a whole stream; where it finds nothing, no part of the stream is looked at again.
    pub(crate) fn new(stream: &str, annotations: &[Annotation]) -> Self {
        let keys: Vec<_> = annotations
            .iter()
            .map(|annotation| Finder::new(annotation.key()))
            .collect();
        Self {
            anywhere: keys.iter().any(|key| key.find(stream.as_bytes()).is_some()),
            keys,
        }
    }

    /// Returns false if none of them is in this part of the stream.
    pub(crate) fn may_find(&self, part: &str) -> bool {
        self.anywhere
            && self
                .keys
                .iter()
                .any(|key| key.find(part.as_bytes()).is_some())
    }

    /// Returns the number of their occurrences in this part of the stream.
    pub(crate) fn count(&self, part: &str) -> usize {
        if !self.anywhere {
            return 0;
        }
        self.keys
            .iter()
            .map(|key| key.find_iter(part.as_bytes()).count())
            .sum()
    }
}

/// True where an unknown kind may hold a template that does not ask and would get an agent all the same. False: a document
/// of which this is known needs not be read for it.
pub(crate) fn may_be(kind: &str, api_version: Option<&str>, config: &Config) -> bool {
    let is_looked_at = |group: &str| group.contains('.') && !is_for_tools(group);
    config.spec.injection == InjectionMode::Always
        && !is_well_known(kind)
        && api_version.is_none_or(|api_version| is_looked_at(group(api_version)))
}

/// Kinds of Kubernetes that run nothing, and are most of what is not a workload.
fn is_well_known(kind: &str) -> bool {
    matches!(kind, "Service" | "ConfigMap" | "Secret")
}

/// Returns true for a custom resource. Its group has a dot; the groups of Kubernetes that have one hold no workloads.
pub(crate) fn is_custom(resource: &Resource) -> bool {
    resource
        .gvk
        .as_ref()
        .is_some_and(|gvk| gvk.group.contains('.'))
}

/// The API group of an `apiVersion`.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// API groups whose resources hold pod templates as schemas, patterns or patches, or in manifests that a tool is to complete.
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

/// Returns the places of templates in a resource of this kind.
pub(crate) fn places<'f>(
    tree: &Tree<'_>,
    kind: &GroupKind,
    formed: impl IntoIterator<Item = &'f Formed>,
) -> Vec<TemplatePlace> {
    let mut places = Vec::new();
    for formed in formed {
        let beside = formed
            .ancestors
            .last()
            .and_then(|holder| completes_by_policy(tree, *holder));
        let completes = beside.unwrap_or_else(|| is_named_after_work(&kind.1));
        add_place(
            &mut places,
            TemplatePlace {
                path: formed.path.to_string(),
                completes,
            },
        );
    }
    places
}

/// Adds a place, unless it is there or there are too many. Items of one list have the same path.
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
        later
            .places
            .into_iter()
            .for_each(|place| add_place(&mut self.places, place));
    }

    pub(crate) fn message(&self) -> String {
        let resources = match self.resources {
            1 => String::new(),
            resources => format!(" in {resources} resources"),
        };
        format!(
            "not injected: {}, but seems to have a pod template{resources}",
            unknown(&self.kind)
        )
    }

    pub(crate) fn help(&self) -> String {
        format!("if it has one, {}", help(&self.kind, &self.places))
    }
}

/// API group and kind.
pub(crate) type GroupKind = (String, String);

/// A value of the form of a pod template.
struct Candidate {
    formed: Formed,
    template: PodTemplate,
    /// The components that its annotations request.
    asks: Option<ComponentKinds>,
}

/// Returns the warning or note about the pod templates of a resource that are not `known`; none where the configuration would
/// skip them if they were.
pub(crate) fn unknown_kind(
    tree: &Tree<'_>,
    resource: &Resource,
    known: &[FoundTemplate],
    context: DecisionContext<'_>,
) -> Option<(Finding, Option<UnknownTemplates>)> {
    let gvk = resource.gvk.as_ref()?;
    let kind = (gvk.group.clone(), gvk.kind.clone());
    let candidates = candidates(tree, resource, known, context);
    let places = places(
        tree,
        &kind,
        candidates.iter().map(|candidate| &candidate.formed),
    );
    let asking = candidates
        .iter()
        .find_map(|candidate| Some((candidate, candidate.asks?)));
    if let Some((
        Candidate {
            formed, template, ..
        },
        what,
    )) = asking
    {
        let asks = if what.contains(ComponentKind::Agent) {
            Annotation::Inject
        } else {
            Annotation::WaitFor
        };
        let annotation = template
            .annotation(asks.key())
            .map(|annotation| annotation.offset);
        let offset = annotation.unwrap_or(tree.place(formed.node).start);
        let message = format!(
            "a pod template requests {}, but {}",
            what.subject(),
            unknown(&kind)
        );
        let finding = Finding::new(Reason::UnknownKind, message, offset, &formed.pointer);
        return Some((finding.with_help(help(&kind, &places)), None));
    }
    let Formed { pointer, node, .. } = &candidates.first()?.formed;
    let unknown = UnknownTemplates {
        kind,
        resources: 1,
        places,
    };
    let finding = Finding::new(
        Reason::UnknownTemplate,
        unknown.message(),
        tree.place(*node).start,
        pointer,
    );
    Some((finding.with_help(unknown.help()), Some(unknown)))
}

fn unknown((group, kind): &GroupKind) -> String {
    let group = if group.is_empty() {
        "the core API group"
    } else {
        group
    };
    format!("the kind {kind} ({group}) is unknown")
}

/// The values in a resource that would get a component if their places were known.
fn candidates(
    tree: &Tree<'_>,
    resource: &Resource,
    known: &[FoundTemplate],
    context: DecisionContext<'_>,
) -> Vec<Candidate> {
    let (api_version, kind) = (&*resource.identity.api_version, &*resource.identity.kind);
    let asks_or_not =
        may_be(kind, Some(api_version), context.config) && owned(tree, resource).is_none();
    // A resource that is its own template has no path that could be configured. An agent of an earlier run has its own warning.
    let known: HashSet<NodeId> = known
        .iter()
        .map(|template| tree.alias_target(template.node))
        .collect();
    let is_open = |formed: &Formed| {
        !formed.path.steps.is_empty()
            && !has_record(tree, formed.node)
            && !known.contains(&formed.node)
    };
    let formed = formed(tree, resource.node).into_iter().filter(is_open);
    let (asking, others): (Vec<_>, Vec<_>) = formed
        .map(|formed| (asks(tree, formed.node, context.config), formed))
        .partition(|(asks, _)| asks.is_some());
    let mut looked_at: Vec<_> = asking
        .into_iter()
        .chain(others)
        .take(MAX_CANDIDATES)
        .collect();
    looked_at.sort_by_key(|(_, formed)| tree.place(formed.node).start);
    let candidates = looked_at.into_iter().filter_map(|(asks, formed)| {
        if asks.is_none() && !(asks_or_not && names_an_image(tree, formed.node)) {
            return None;
        }
        let template = PodTemplate::view(tree, formed.node);
        let is_wanted = match decide(tree, resource, &formed.pointer, &template, context).decision {
            // Once the kind is known, its controller may complete the containers.
            Decision::Skip(Finding {
                reason: Reason::Patch,
                ..
            }) => strategic_merge::evidence(tree, resource, &template, Images::Optional).is_none(),
            Decision::Skip(_) => false,
            Decision::Add(_) | Decision::Refuse(_) => true,
        };
        is_wanted.then_some(Candidate {
            formed,
            template,
            asks,
        })
    });
    candidates.collect()
}

/// A container with name and image is one that runs, not a part of one.
fn names_an_image(tree: &Tree<'_>, template: NodeId) -> bool {
    let mut items = containers(tree, template)
        .into_iter()
        .flat_map(|list| tree.items(list));
    items.any(|item| {
        ["name", "image"]
            .into_iter()
            .all(|key| text(tree, item, key).is_some())
    })
}

/// Returns true if one of the words in the name of a kind stands for work that ends.
fn is_named_after_work(kind: &str) -> bool {
    let is_word = |word: &str| {
        kind.split(word)
            .skip(1)
            .any(|behind| !behind.starts_with(|next: char| next.is_ascii_lowercase()))
    };
    ["Job", "Run", "Task", "Workflow"].into_iter().any(is_word)
}

fn help(kind: &GroupKind, places: &[TemplatePlace]) -> String {
    if !kind.0.is_empty() {
        return format!("add to the configuration: `{}`", line(kind, places));
    }
    "check its `apiVersion`; a custom kind has an API group, such as example.com/v1".to_owned()
}

/// Paths that one line of configuration names. A kind with more has no fixed form.
const MAX_PATHS: usize = 10;

/// `podTemplates: [{group: example.com, kind: App, path: spec.template}]`
pub(crate) fn line((group, kind): &GroupKind, places: &[TemplatePlace]) -> String {
    let word = |text: &str| quote(text, Context::Flow).into_owned();
    let entries = places.iter().map(|TemplatePlace { path, completes }| {
        let completes = if *completes { ", completes: true" } else { "" };
        format!(
            "{{group: {}, kind: {}, path: {}{completes}}}",
            word(group),
            word(kind),
            word(path)
        )
    });
    format!("podTemplates: [{}]", entries.collect::<Vec<_>>().join(", "))
}

/// Returns the components that the annotations of a possible template request.
fn asks(tree: &Tree<'_>, node: NodeId, config: &Config) -> Option<ComponentKinds> {
    let below = |path: [&str; 2]| {
        path.into_iter()
            .try_fold(node, |node, key| tree.member(node, key))
    };
    let annotations = below(["metadata", "annotations"])?;
    let value = |annotation: Annotation| text(tree, annotations, annotation.key());
    let inject =
        value(Annotation::Inject).is_some_and(|inject| inject.eq_ignore_ascii_case("true"));
    let wait_for = config.allows(Annotation::WaitFor)
        && value(Annotation::WaitFor).is_some_and(|hosts| !asks_for_nothing(&hosts));
    let kinds = [
        inject.then_some(ComponentKind::Agent),
        wait_for.then_some(ComponentKind::WaitFor),
    ];
    let kinds: ComponentKinds = kinds.into_iter().flatten().collect();
    (!kinds.is_empty()).then_some(kinds)
}
