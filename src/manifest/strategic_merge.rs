//! Strategic merge patches, as kustomize applies them, and other incomplete templates.
//!
//! A patch has kind, name and pod template like the workload that it changes. An agent in the patch would be merged into a
//! workload that gets its own agent: twice, or into another list. The image tells them apart: the API server requires it in
//! every container, and a patch has no reason to repeat it.

use crate::manifest::pod_template::{Container, ContainerList, PodTemplate};
use crate::manifest::resource::{Resource, text};
use yaml_json_patch::{Kind, NodeId, Tree};

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
    /// The controller of a kind from `podTemplates` may fill them in, as Elastic's and Grafana's do.
    Optional,
}

/// The first evidence that the resource, or this template of it, is a patch.
pub(crate) fn evidence<'a>(
    tree: &Tree<'_>,
    resource: &Resource,
    template: &'a PodTemplate,
    images: Images,
) -> Option<PatchEvidence<'a>> {
    let search = || {
        let text = tree.text().get(tree.span(resource.node))?;
        memchr::memchr(b'$', text.as_bytes())?;
        first_directive(tree, resource.node)
    };
    // A resource may have thousands of templates.
    let directive = || resource.directive.get_or_init(search).map(PatchEvidence::Directive);
    let no_image = || {
        if images == Images::Optional || has_image_trigger(tree, resource) {
            return None;
        }
        // Ephemeral containers are added to running pods, not in manifests.
        let own = template.containers.iter().filter(|container| container.list != ContainerList::EphemeralContainers);
        // `image:` without a value is a Helm template with an empty value, and `image: " "` is OpenShift's "by trigger".
        let mut own = own.filter(|container| container.image.is_none());
        own.find(|container| tree.member(container.node, "image").is_none()).map(PatchEvidence::NoImage)
    };
    directive().or_else(no_image)
}

/// Returns true for a directive of strategic merge patches. The last two have the name of a field behind the slash.
fn is_directive(key: &str) -> bool {
    matches!(key, "$patch" | "$retainKeys")
        || ["$setElementOrder/", "$deleteFromPrimitiveList/"].iter().any(|word| key.starts_with(word))
}

fn first_directive(tree: &Tree<'_>, node: NodeId) -> Option<NodeId> {
    match tree.kind(node) {
        Kind::Mapping => tree.entries(node).find_map(|(key, value)| {
            let speaks = tree.scalar(key).is_some_and(|key| is_directive(&key));
            if speaks { Some(key) } else { first_directive(tree, value) }
        }),
        Kind::Sequence => tree.items(node).find_map(|item| first_directive(tree, item)),
        Kind::Scalar | Kind::Alias => None,
    }
}

/// Returns true if OpenShift fills in images: by a DeploymentConfig's triggers, or an annotation on any other kind.
fn has_image_trigger(tree: &Tree<'_>, resource: &Resource) -> bool {
    let below = |node: NodeId, key: &str| tree.member(node, key);
    let annotations = below(resource.node, "metadata").and_then(|metadata| below(metadata, "annotations"));
    if annotations.is_some_and(|annotations| below(annotations, "image.openshift.io/triggers").is_some()) {
        return true;
    }
    let triggers = below(resource.node, "spec").and_then(|spec| below(spec, "triggers"));
    resource.identity.kind == "DeploymentConfig"
        && triggers.is_some_and(|triggers| {
            let mut triggers = tree.items(tree.alias_target(triggers));
            triggers.any(|trigger| text(tree, trigger, "type").as_deref() == Some("ImageChange"))
        })
}
