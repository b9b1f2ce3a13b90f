//! Annotations that do nothing: on the workload instead of its template, with a name that is none of ours, or about an agent
//! that nobody asks for.

use crate::annotations;
use crate::decide::Evaluation;
use crate::manifest::field_path::field_path;
use crate::manifest::pod_template::Annotation;
use crate::report::{Finding, Reason};
use yaml_json_patch::NodeId;

impl Evaluation<'_, '_> {
    /// The most repeated mistake of all injectors' users: the annotation stands on the workload, or half-way to its pods.
    pub(super) fn warn_of_misplaced_annotations(&mut self) {
        let mut node = Some(self.resource.node);
        let mut at = String::new();
        for token in self.at.split('/').skip(1) {
            if let Some(holder) = node {
                self.warn_of_annotations_of(holder, &at);
            }
            at.push('/');
            at.push_str(token);
            node = node.and_then(|node| self.tree.child(node, token));
        }
    }

    fn warn_of_annotations_of(&mut self, holder: NodeId, at: &str) {
        let metadata = self.tree.member(holder, "metadata");
        let Some(annotations) = metadata.and_then(|metadata| self.tree.member(metadata, "annotations")) else {
            return;
        };
        for (key, _) in self.tree.entries(self.tree.alias_target(annotations)) {
            let Some(name) = self.tree.scalar(self.tree.alias_target(key)) else { continue };
            if !name.starts_with(annotations::PREFIX) || self.template.annotation(&name).is_some() {
                continue;
            }
            let place = if at.is_empty() { self.resource.identity.kind.clone() } else { field_path(at) };
            let finding =
                self.finding(Reason::MisplacedAnnotation, format!("`{name}` stands on {place}, where it does nothing"));
            let pointer = format!("{at}/metadata/annotations/{}", yaml_json_patch::pointer::escape(&name));
            let offset = Some(self.tree.span(key).start);
            let place = field_path(&format!("{}/metadata/annotations", self.at));
            let meant = annotations::unknown(&name).and_then(|unknown| unknown.suggestion);
            let help = match meant {
                Some(meant) => format!("move it to {place}, as `{meant}`"),
                None => format!("move it to {place}"),
            };
            self.warnings.push(Finding { help: Some(help), pointer, offset, ..finding });
        }
    }

    /// Who sets something of the agent wants it, and may think that this is asking.
    pub(super) fn idle_annotations(&self) -> Option<Finding> {
        let sets = |annotation: &&Annotation| {
            annotations::Annotation::of(&annotation.key).is_some_and(|known| known.setting().is_some())
        };
        let idle: Vec<&Annotation> = self.template.annotations.iter().filter(sets).collect();
        let first = idle.first()?;
        let names: Vec<String> = idle.iter().map(|annotation| format!("`{}`", annotation.key)).collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        let message = format!("{} {have} no effect: the template does not ask for the agent", names.join(", "));
        let pointer = self.annotation_pointer(&first.key);
        let warning = Finding::new(Reason::IdleAnnotation, message, first.offset, &pointer);
        let help = format!("ask for it with `{}: \"true\"`", annotations::Annotation::Inject.key());
        Some(warning.with_help(help))
    }

    pub(super) fn warn_of_unknown_annotations(&mut self) {
        let mut warnings = Vec::new();
        for annotation in &self.template.annotations {
            if let Some(unknown) = annotations::unknown(&annotation.key) {
                let message = format!("`{}` is no annotation of ours", annotation.key);
                let finding = self.finding(Reason::UnknownAnnotation, message);
                let help = unknown.suggestion.map(|name| format!("did you mean `{name}`?"));
                let pointer = self.annotation_pointer(&annotation.key);
                warnings.push(Finding { help, offset: Some(annotation.offset), pointer, ..finding });
            }
        }
        self.warnings.extend(warnings);
    }
}
