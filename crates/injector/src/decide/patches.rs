//! `kustomize-patch`, `patch`: strategic merge patches look like workloads, and are skipped.

use crate::decide::{Evaluation, NoAgent};
use manifest::known_kinds::may_lack_images;
use manifest::{Images, PatchEvidence, strategic_merge};
use report::{Cause, Finding, Reason};

const HELP: &str = "inject the result instead, such as the output of `kustomize build`";

const HELP_WITHOUT_IMAGE: &str = "set `image`; if this is a patch, inject the result instead, such as the output of `kustomize build`";

impl Evaluation<'_, '_> {
    /// Skips the template if a kustomization names the text's file as a patch.
    pub(super) fn not_a_named_patch(&self) -> Result<(), NoAgent> {
        let Some(patch) = self.context.patch else {
            return Ok(());
        };
        let message = format!("{} uses this file as a patch", patch.place);
        let finding = self
            .finding(Reason::KustomizePatch, message)
            .with_help(HELP);
        let cause = Cause::Kustomization {
            place: patch.place.clone(),
            pointer: patch.pointer.clone(),
        };
        Err(NoAgent::skip(finding).caused_by(cause))
    }

    /// Returns true if `podTemplates` names the kind.
    pub(super) fn is_configured(&self) -> bool {
        let (group, kind) = (self.group(), &self.resource.identity.kind);
        self.config
            .spec
            .pod_templates
            .iter()
            .any(|path| *path.group == group && *path.kind == *kind)
    }

    /// Returns a finding if the text itself shows that it is a patch.
    pub(super) fn looks_like_a_patch(&self) -> Option<Finding> {
        let images = if may_lack_images(self.group()) || self.is_configured() {
            Images::Optional
        } else {
            Images::Required
        };
        let evidence = strategic_merge::evidence(self.tree, self.resource, self.template, images)?;
        Some(match evidence {
            PatchEvidence::Directive(key) => {
                let directive = self.tree.raw(key);
                let message = format!("the directive `{directive}` makes this a patch");
                self.finding_at(Reason::Patch, message, key, "")
                    .with_help(HELP)
            }
            PatchEvidence::NoImage(container) => {
                let name = container.name.as_deref().unwrap_or("without a name");
                let message = format!(
                    "container {name} has no `image`, so this is a patch or a partial template"
                );
                let pointer = container.pointer();
                self.finding_at(Reason::Patch, message, container.node, &pointer)
                    .with_help(HELP_WITHOUT_IMAGE)
            }
        })
    }
}
