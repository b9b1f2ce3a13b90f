//! The JSON Patches of one text (RFC 6902), as `inject --output patch` prints them.

use injector::{Injection, Outcome};
use json_patch::PatchOperation;
use manifest::Identity;
use report::visible_json;
use serde::Serialize;

/// The patch of a resource.
#[derive(Serialize)]
struct ResourcePatch<'o> {
    #[serde(flatten)]
    identity: &'o Identity,
    patch: Vec<&'o PatchOperation>,
}

/// Returns a line of JSON for each resource that changes, if the injection kept its patches. A resource may have several pod
/// templates.
///
/// # Errors
/// None: the values come from YAML or JSON.
pub fn patches(injection: &Injection) -> serde_json::Result<String> {
    let mut lines = String::new();
    for resource in injection
        .outcomes
        .chunk_by(|one, next| one.offset == next.offset)
    {
        let patch: Vec<_> = resource
            .iter()
            .flat_map(|outcome| outcome.patch.iter())
            .collect();
        if let (Some(Outcome { identity, .. }), false) = (resource.first(), patch.is_empty()) {
            let line = serde_json::to_string(&ResourcePatch { identity, patch })?;
            lines.push_str(&visible_json(&line));
            lines.push('\n');
        }
    }
    Ok(lines)
}
