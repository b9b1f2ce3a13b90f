//! Reads the autoscalers of the input: the range of the number of pods.

use crate::checks::{Object, Objects};
use crate::manifest::related::RelatedKind;
use crate::manifest::replicas::Scaling;

/// Returns the ranges of all autoscalers, each with the index of its text.
pub(super) fn scalings(objects: &Objects<'_>) -> Vec<(usize, Scaling)> {
    let mut scalings = Vec::new();
    for object in objects.of(RelatedKind::Autoscaler) {
        scalings.push((object.input, scaling(object)));
    }
    scalings
}

fn scaling(object: &Object) -> Scaling {
    let text = |key: &str| {
        let mut entries = object.entries.iter();
        entries.find(|entry| entry.key == key)?.value.clone()
    };
    let number = |key: &str| text(key)?.parse::<u64>().ok();
    let (kind, min, max) = match &*object.identity.kind {
        // The defaults of KEDA: Deployment, 0 and 100.
        "ScaledObject" => (
            text("kind").unwrap_or_else(|| "Deployment".to_owned()),
            number("minReplicaCount").unwrap_or_default(),
            Some(number("maxReplicaCount").unwrap_or(100)),
        ),
        _ => (
            text("kind").unwrap_or_default(),
            number("minReplicas").unwrap_or(1),
            number("maxReplicas"),
        ),
    };
    Scaling {
        namespace: object.namespace.clone(),
        kind,
        name: text("name").unwrap_or_default(),
        min,
        max,
    }
}
