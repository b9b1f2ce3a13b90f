//! Strategic merge patches, as kustomize applies them, and other incomplete templates.
//!
//! A patch has kind, name and pod template like the workload that it changes. An agent in the patch would be merged into a
//! workload that gets its own agent: twice, or into another list. The image tells them apart: the API server requires it in
//! every container, and a patch has no reason to repeat it.

use crate::pod_template::{Container, PodTemplate};
use crate::resource::Resource;
use yaml_json_patch::{NodeId, Tree};

/// The evidence that a resource is a patch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PatchEvidence<'a> {
    /// A key with instructions for the merge, such as `$patch`.
    Directive(NodeId),
    /// A container without an image.
    NoImage(&'a Container),
}

/// The rule for images in a resource's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Images {
    /// Every container must name one.
    Required,
    /// A controller may fill them in, as Elastic's, Grafana's and Spark's do.
    Optional,
}

/// The first evidence that the resource, or this template of it, is a patch.
pub fn evidence<'a>(
    tree: &Tree<'_>,
    resource: &Resource,
    template: &'a PodTemplate,
    images: Images,
) -> Option<PatchEvidence<'a>> {
    if let Some(directive) = resource.directive {
        return Some(PatchEvidence::Directive(directive));
    }
    if images == Images::Optional || has_image_trigger(tree, resource) {
        return None;
    }
    // `image:` without a value is a Helm template with an empty value, and `image: " "` is OpenShift's "by trigger".
    template
        .own_containers()
        .find(|container| tree.member(container.node, "image").is_none())
        .map(PatchEvidence::NoImage)
}

/// Returns true if OpenShift fills in images: by a DeploymentConfig's triggers, or an annotation on any other kind.
fn has_image_trigger(tree: &Tree<'_>, resource: &Resource) -> bool {
    let has_image_change = |spec| {
        tree.member_items(spec, "triggers")
            .any(|trigger| tree.member_text(trigger, "type").as_deref() == Some("ImageChange"))
    };
    resource
        .annotation(tree, "image.openshift.io/triggers")
        .is_some()
        || resource.identity.kind == "DeploymentConfig"
            && tree
                .member(resource.node, "spec")
                .is_some_and(has_image_change)
}
