//! Strategic merge patches, as kustomize applies them, and other incomplete templates.
//!
//! A patch has kind, name and pod template like the workload that it changes. An agent in the patch would be merged into a
//! workload that gets its own agent: twice, or into another list. The image tells them apart: the API server requires it in
//! every container, and a patch has no reason to repeat it.

use crate::manifest::pod_template::{Container, ContainerList, PodTemplate};
use crate::manifest::resource::{Resource, text};
use yaml_json_patch::{NodeId, Tree};

/// The evidence that a resource is a patch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PatchEvidence<'a> {
    /// A key with instructions for the merge, such as `$patch`.
    Directive(NodeId),
    /// A container without an image.
    NoImage(&'a Container),
}

/// The rule for images in a resource's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Images {
    /// Every container must name one.
    Required,
    /// A controller may fill them in, as Elastic's, Grafana's and Spark's do.
    Optional,
}

/// The first evidence that the resource, or this template of it, is a patch.
pub(crate) fn evidence<'a>(
    tree: &Tree<'_>,
    resource: &Resource,
    template: &'a PodTemplate,
    images: Images,
) -> Option<PatchEvidence<'a>> {
    let no_image = || {
        if images == Images::Optional || has_image_trigger(tree, resource) {
            return None;
        }
        // Ephemeral containers are added to running pods, not in manifests.
        let own = template
            .containers
            .iter()
            .filter(|container| container.list != ContainerList::EphemeralContainers);
        // `image:` without a value is a Helm template with an empty value, and `image: " "` is OpenShift's "by trigger".
        let mut own = own.filter(|container| container.image.is_none());
        own.find(|container| tree.member(container.node, "image").is_none())
            .map(PatchEvidence::NoImage)
    };
    resource
        .directive
        .map(PatchEvidence::Directive)
        .or_else(no_image)
}

/// Returns true if OpenShift fills in images: by a DeploymentConfig's triggers, or an annotation on any other kind.
fn has_image_trigger(tree: &Tree<'_>, resource: &Resource) -> bool {
    let below = |node: NodeId, key: &str| tree.member(node, key);
    if resource
        .annotation(tree, "image.openshift.io/triggers")
        .is_some()
    {
        return true;
    }
    let triggers = below(resource.node, "spec").and_then(|spec| below(spec, "triggers"));
    resource.identity.kind == "DeploymentConfig"
        && triggers.is_some_and(|triggers| {
            let mut triggers = tree.items(tree.alias_target(triggers));
            triggers.any(|trigger| text(tree, trigger, "type").as_deref() == Some("ImageChange"))
        })
}
