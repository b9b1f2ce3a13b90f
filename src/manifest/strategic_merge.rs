//! What only looks like a workload: a strategic merge patch, as kustomize applies it to one, or a part of a template.
//!
//! A patch has kind, name and pod template like the workload that it changes. Given an agent of its own, it would put that
//! one into a workload which gets the agent anyway, once more or into the other list. What tells it apart is what the API
//! server asks of every container and a patch has no reason to repeat: the image.

use crate::manifest::pod_template::{Container, ContainerList, PodTemplate};
use crate::manifest::resource::{Resource, text};
use yaml_json_patch::{Kind, NodeId, Tree};

/// What shows that a resource is a patch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sign<'a> {
    /// A key that speaks to whoever merges: `$patch` and its like.
    Directive(NodeId),
    /// A container that names no image.
    NoImage(&'a Container),
}

/// Who may fill in the images of a resource's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Images {
    /// Nobody: what Kubernetes gets must name them.
    InTheText,
    /// The user says where templates of this kind stand; their controller may complete them (Elastic's and Grafana's do).
    FromElsewhere,
}

/// The first sign that the resource, or this template of it, is a patch.
pub(crate) fn sign<'a>(
    tree: &Tree<'_>,
    resource: &Resource,
    template: &'a PodTemplate,
    images: Images,
) -> Option<Sign<'a>> {
    let directive = || {
        let text = tree.text().get(tree.span(resource.node))?;
        memchr::memchr(b'$', text.as_bytes())?;
        first_directive(tree, resource.node).map(Sign::Directive)
    };
    let no_image = || {
        if images == Images::FromElsewhere || has_image_trigger(tree, resource) {
            return None;
        }
        // An ephemeral container is nothing that a manifest begins with.
        let own = template.containers.iter().filter(|container| container.list != ContainerList::EphemeralContainers);
        // `image:` without a value is a template whose value was empty; a blank is OpenShift's for "by trigger".
        let mut own = own.filter(|container| container.image.is_none());
        own.find(|container| tree.member(container.node, "image").is_none()).map(Sign::NoImage)
    };
    directive().or_else(no_image)
}

/// The words of a strategic merge patch, the last two with a field's name behind them.
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

/// OpenShift fills in images by trigger: a DeploymentConfig's own, or an annotation on any other kind.
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
