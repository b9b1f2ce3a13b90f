//! `kustomize-patch`, `patch`: strategic merge patches look like workloads, and are skipped.

use crate::config::PodTemplatePath;
use crate::decide::Evaluation;
use crate::manifest::known_kinds::may_lack_images;
use crate::manifest::strategic_merge::{self, Images, PatchEvidence};
use crate::report::{Finding, Reason};

const HELP: &str = "inject the result instead, such as the output of `kustomize build`";

const HELP_WITHOUT_IMAGE: &str = "set `image`; if this is a patch, inject the result instead, such as the output of `kustomize build`";

impl Evaluation<'_, '_> {
    /// Returns a finding if a kustomization names the text's file as a patch.
    pub(super) fn named_patch(&self) -> Option<Finding> {
        let message = format!("{} uses this file as a patch", self.patch?.place);
        Some(
            self.finding(Reason::KustomizePatch, message)
                .with_help(HELP),
        )
    }

    /// Returns a finding if the text itself shows that it is a patch.
    pub(super) fn looks_like_a_patch(&self) -> Option<Finding> {
        let is_this = |place: &PodTemplatePath| {
            place.group == self.group() && place.kind == self.resource.identity.kind
        };
        let may_lack_images =
            may_lack_images(self.group()) || self.config.spec.pod_templates.iter().any(is_this);
        let images = if may_lack_images {
            Images::Optional
        } else {
            Images::Required
        };
        let (message, help, node, pointer) =
            match strategic_merge::evidence(self.tree, self.resource, self.template, images)? {
                PatchEvidence::Directive(key) => (
                    format!("the directive `{}` makes this a patch", self.tree.raw(key)),
                    HELP,
                    key,
                    self.at.to_owned(),
                ),
                PatchEvidence::NoImage(container) => {
                    let name = container.name.as_deref().unwrap_or("without a name");
                    let message = format!(
                        "container {name} has no `image`, so this is a patch or a partial template"
                    );
                    let pointer = format!(
                        "{}/spec/{}/{}",
                        self.at,
                        container.list.field(),
                        container.index
                    );
                    (message, HELP_WITHOUT_IMAGE, container.node, pointer)
                }
            };
        let offset = Some(self.tree.place(node).start);
        Some(Finding {
            offset,
            pointer,
            ..self.finding(Reason::Patch, message).with_help(help)
        })
    }
}
