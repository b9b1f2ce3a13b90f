//! `api-key-unusable`: a Secret whose API key the agent cannot send. It tries for ever, so that its pod is Ready and no host appears.

use crate::checks::objects::DataEntry;
use crate::checks::{AgentGroup, Objects};
use crate::inject::outcome::Remark;
use k8s_openapi::ByteString;
use manifest::RelatedKind;
use report::{Finding, Reason};
use serde_json::json;
use std::collections::HashSet;

pub(super) fn remarks(agents: &[AgentGroup<'_>], objects: &Objects<'_>) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    let mut known = HashSet::new();
    for agent in agents {
        let Some(need) = &agent.needs.api_key else {
            continue;
        };
        if !known.insert((agent.namespace, need)) {
            continue;
        }
        let kind = RelatedKind::Holds(need.source);
        for object in objects.named(kind, agent.namespace, &need.name) {
            let Some(entry) = object
                .entries
                .iter()
                .rfind(|entry| Some(&entry.key) == need.key.as_ref())
            else {
                continue;
            };
            let Some(flaw) = flaw(entry) else { continue };
            // Its own line would show the key.
            let offset = object.offset;
            let message = format!("the API key `{}` {flaw}", entry.key);
            let help = "write the key alone, for example by `kubectl create secret generic` with `--from-literal`";
            let finding = Finding::new(Reason::ApiKeyUnusable, message, offset, &entry.pointer)
                .with_help(help);
            remarks.push(object.remark(finding));
        }
    }
    remarks
}

/// Returns what is wrong with an API key; none for what is no key yet: a placeholder, or what SOPS encrypts.
fn flaw(entry: &DataEntry) -> Option<String> {
    let text = entry.value.as_deref()?;
    let key = if entry.pointer.starts_with("/data/") {
        serde_json::from_value::<ByteString>(json!(text)).ok()?.0
    } else {
        text.as_bytes().to_vec()
    };
    if key.iter().any(|byte| b"<>[]{}$".contains(byte)) {
        return None;
    }
    let what = if key.iter().any(|byte| b"\r\n".contains(byte)) {
        "has a line break"
    } else if key.contains(&b' ') {
        "has a blank"
    } else if !key.iter().all(u8::is_ascii_graphic) {
        "is no text of ASCII"
    } else {
        // A key may end in `=`. Within the value, the quotes and the name of an env file are a part of the key.
        let padded = key.iter().rev().take_while(|byte| **byte == b'=').count();
        let is_foreign = key[..key.len() - padded]
            .iter()
            .any(|byte| b"\"'=".contains(byte));
        return is_foreign.then(|| "has a quote or `=`, so Mackerel does not accept it".to_owned());
    };
    Some(format!("{what}, so the agent cannot send it"))
}
