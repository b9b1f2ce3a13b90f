//! `misplaced-annotation`: a key in our name that is a label, or an annotation of anything but a pod template. Users of all injectors
//! make this mistake.

use crate::decide::Evaluation;
use crate::decide::annotations::{ALLOW, not_allowed, of_each};
use config::Config;
use mackerel::annotations::PREFIX;
use manifest::known_kinds::passes_annotations_on;
use manifest::{PodAnnotation, Resource, field_path};
use report::{Finding, Reason};
use std::collections::HashSet;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{NodeId, Tree};

/// The fields of metadata with keys.
const FIELDS: [&str; 2] = ["annotations", "labels"];

/// A resource with metadata that is not read.
struct Unread<'a, 't> {
    tree: &'a Tree<'t>,
    resource: &'a Resource,
    config: &'a Config,
    /// The annotations that are read.
    read: &'a [PodAnnotation],
    help: &'a dyn Fn() -> String,
}

impl Unread<'_, '_> {
    /// Returns the findings about our keys in fields of the metadata of `holder`, which is `at` in the resource.
    fn keys(&self, holder: NodeId, at: &str, fields: &[&str]) -> Vec<Finding> {
        let (tree, config) = (self.tree, self.config);
        let mut findings = Vec::new();
        let Some(metadata) = tree.member(holder, "metadata") else {
            return findings;
        };
        for field in fields {
            let mut keys = Vec::new();
            for (node, _) in tree.member_entries(metadata, field) {
                let key = tree.scalar(tree.alias_target(node)).unwrap_or_default();
                let is_ours = key.starts_with(PREFIX) || config.not_allowed(&key).is_some();
                if is_ours {
                    keys.push((tree.place(node).start, key));
                }
            }
            // Hardly any resource has one.
            if !keys.is_empty() {
                let read: HashSet<&str> = self.read.iter().map(|one| &*one.key).collect();
                keys.retain(|(_, key)| !read.contains(&**key));
            }
            findings.extend(of_each(&keys, |(start, key)| {
                let (noun, kind) = (field.trim_end_matches('s'), &self.resource.identity.kind);
                let misplaced = || format!("{noun} `{key}` has no effect on {kind}");
                let (reason, message, help) = match not_allowed(config, key) {
                    Some(message) => (Reason::AnnotationNotAllowed, message, ALLOW.to_owned()),
                    None => (Reason::MisplacedAnnotation, misplaced(), (self.help)()),
                };
                let pointer = format!("{at}/metadata/{field}/{}", escape(key));
                Finding::new(reason, message, *start, &pointer).with_help(help)
            }));
        }
        findings
    }
}

/// Returns the warnings about our keys on an object without a pod template.
pub fn on_object(tree: &Tree<'_>, resource: &Resource, config: &Config) -> Vec<Finding> {
    let help = match &*resource.identity.kind {
        "Namespace" => {
            "to choose namespaces, set `select.namespaces` or `select.excludeNamespaces`"
        }
        _ => "annotate the pod templates: spec.template.metadata.annotations of a Deployment",
    };
    let unread = Unread {
        tree,
        resource,
        config,
        read: &[],
        help: &|| help.to_owned(),
    };
    let first = usize::from(resource.gvk.as_ref().is_some_and(passes_annotations_on));
    unread.keys(resource.node, "", &FIELDS[first..])
}

impl Evaluation<'_, '_> {
    /// Warns about our keys on the workload, between it and its template, and among the labels of that, unless the template has the same
    /// annotation. Of several templates the first one has the warning.
    pub(super) fn warn_of_misplaced_annotations(&mut self) {
        let (template, at) = (self.written, self.at);
        let help = || {
            let field = field_path(&format!("{at}/metadata/annotations"));
            format!("move it to {field}")
        };
        let unread = Unread {
            tree: self.tree,
            resource: self.resource,
            config: self.config,
            read: &template.annotations,
            help: &help,
        };
        for (holder, (end, _)) in template.ancestors.iter().zip(at.match_indices('/')) {
            let mut first = self.resource.shared.first_templates.borrow_mut();
            if *first.entry(*holder).or_insert(template.node) == template.node {
                self.warnings
                    .extend(unread.keys(*holder, &at[..end], &FIELDS));
            }
        }
        self.warnings
            .extend(unread.keys(template.node, at, &FIELDS[1..]));
    }
}
