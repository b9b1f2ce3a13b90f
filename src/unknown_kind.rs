//! A pod template that asks for the agent or for wait-for, in a kind of which nobody said that it holds one there.
//!
//! Not every custom resource that runs pods can be known. But whoever annotates a template expects something in it, and is to
//! hear that nothing happened, and with which line of configuration it would.

use crate::annotations::Annotation;
use crate::config::TemplatePath;
use crate::decide::{Decision, Terms, decide};
use crate::find::{Table, member};
use crate::no_such_kind::group_of;
use crate::parts::{Kinds, Parts};
use crate::pod_template::PodTemplate;
use crate::report::{Finding, Reason};
use crate::resource::{Resource, text};
use crate::template_form::{Formed, formed};
use crate::wait_for::asks_for_nothing;
use crate::yaml::{NodeId, Tree, Where, spell};
use kube_core::GroupVersionKind;
use memchr::memmem::Finder;

/// Tells whether a text can hold such a template at all, so that nothing is read for it in vain.
#[derive(Debug)]
pub(crate) struct Search {
    keys: [Finder<'static>; 2],
    anywhere: bool,
}

impl Search {
    /// One look at a whole stream; where it finds nothing, no part of the stream is looked at again.
    pub(crate) fn new(stream: &str) -> Self {
        let keys = [Annotation::Inject, Annotation::WaitFor].map(|annotation| Finder::new(annotation.key()));
        Self { anywhere: is_in(&keys, stream), keys }
    }

    /// False: nothing in this part of the stream asks.
    pub(crate) fn may_find(&self, part: &str) -> bool {
        self.anywhere && is_in(&self.keys, part)
    }
}

fn is_in(keys: &[Finder<'static>], text: &str) -> bool {
    keys.iter().any(|key| key.find(text.as_bytes()).is_some())
}

/// A template that asks.
struct Asking {
    formed: Formed,
    what: Kinds,
}

/// What is told of a resource in which no pod template is known. Silent where the configuration would pass its templates by
/// if they were.
pub(crate) fn unknown_kind(
    tree: &Tree<'_>,
    resource: &Resource,
    table: &Table<'_>,
    terms: Terms<'_>,
) -> Option<Finding> {
    let gvk = resource.gvk.as_ref()?;
    // A resource that is its own template has no path that could be configured.
    let formed = formed(tree, resource.node).into_iter().filter(|formed| !formed.path.steps.is_empty());
    let asking = formed.filter_map(|formed| Some(Asking { what: asks(tree, formed.node)?, formed }));
    let asking = asking.filter(|Asking { formed, .. }| {
        let template = PodTemplate::view(tree, formed.node);
        let verdict = decide(tree, resource, &formed.pointer, &template, terms);
        !matches!(verdict.decision, Decision::Skip(_))
    });
    let asking: Vec<Asking> = asking.collect();
    let Asking { formed: Formed { pointer, node, .. }, what } = asking.first()?;
    let template = PodTemplate::view(tree, *node);
    let asks = if what.agent().is_some() { Annotation::Inject } else { Annotation::WaitFor };
    let offset = template.annotation(asks.key()).map_or(tree.span(*node).start, |annotation| annotation.offset);
    let group = if gvk.group.is_empty() { "the core API group" } else { &gvk.group };
    let (subject, kind) = (what.subject(), &gvk.kind);
    let message =
        format!("a pod template asks for {subject}, but nothing says that the kind {kind} of {group} holds one there");
    Some(Finding::new(Reason::UnknownKind, message, offset, pointer).with_help(help(gvk, table, asking)))
}

fn help(gvk: &GroupVersionKind, table: &Table<'_>, asking: Vec<Asking>) -> String {
    if !gvk.group.is_empty() {
        return format!("add to the configuration: `{}`", line(gvk, asking));
    }
    match group_of(table, &gvk.kind) {
        Some(group) => format!("is its `apiVersion` right? a {} is of {group}", gvk.kind),
        None => "write its API group into `apiVersion`, such as example.com/v1".to_owned(),
    }
}

/// `podTemplates: [{group: example.com, kind: App, path: /spec/template}]`
fn line(gvk: &GroupVersionKind, asking: Vec<Asking>) -> String {
    let mut paths: Vec<TemplatePath> = asking.into_iter().map(|asking| asking.formed.path).collect();
    // Items of one list have the same path.
    paths.dedup();
    let word = |text: &str| spell(text, Where::Flow).into_owned();
    let places = paths.iter().map(|path| {
        format!("{{group: {}, kind: {}, path: {}}}", word(&gvk.group), word(&gvk.kind), word(&path.to_string()))
    });
    format!("podTemplates: [{}]", places.collect::<Vec<_>>().join(", "))
}

/// What something of the form of a pod template asks for.
fn asks(tree: &Tree<'_>, node: NodeId) -> Option<Kinds> {
    let below = |path: [&str; 2]| path.into_iter().try_fold(node, |node, key| member(tree, node, key));
    let annotations = below(["metadata", "annotations"])?;
    let value = |annotation: Annotation| text(tree, annotations, annotation.key());
    let inject = value(Annotation::Inject).is_some_and(|inject| inject.eq_ignore_ascii_case("true"));
    let wait_for = value(Annotation::WaitFor).is_some_and(|hosts| !asks_for_nothing(&hosts));
    Parts::of(inject.then_some(()), wait_for.then_some(()))
}
