//! `rbac.generate`: the permissions as documents of a stream or items of a ResourceList.
//!
//! Those of an earlier run are taken as absent, and what is needed is written anew: so a changed configuration gives what it
//! would have given in the first place. Where all of it says already what it should, it is left where it stands, since
//! another tool may have moved it or printed it again.

use crate::config::Config;
use crate::inject::Injection;
use crate::inject::outcome::{Outcome, Remark};
use crate::mackerel::annotations::Annotation;
use crate::manifest::identity::Identity;
use crate::options::{Direction, Options, Permissions};
use crate::rbac::Grants;
use crate::rbac::addition::{self, Wanted, annotate};
use crate::rbac::manifest::comments;
use crate::rbac::objects::objects;
use crate::rbac::present::{Other, Ours, Present};
use crate::rbac::spliced::Failure;
use crate::report::PermissionChange;
use crate::report::{Finding, Reason};
use serde_json::Value;
use yaml_json_patch::edit::{self, Edit};

/// Brings the permissions in `text` to what the injection needs, and its edits with them. `again` injects another text.
pub(crate) fn write(
    text: &str,
    config: &Config,
    options: Options,
    injection: &mut Injection,
    again: impl FnOnce(&str) -> Injection,
) {
    let present = Present::of(text);
    let wanted = match options.direction {
        Direction::Inject if config.spec.rbac.generate => wanted(config, options.permissions, injection, &present),
        Direction::Inject | Direction::Uninject => Vec::new(),
    };
    let wanted = with_still_needed(wanted, &present, &injection.outcomes);
    if is_said_already(&present, &wanted) {
        return;
    }
    if let Some(offset) = present.unreadable {
        let finding = unchanged("a document that may hold some of them cannot be read", offset);
        injection.findings.push(finding.with_help("correct the document"));
        return;
    }
    match rewritten(text, &present, &wanted, options.permissions, injection, again) {
        Ok(edits) => {
            injection.edits = edits;
            injection.permissions = changes(&present, &wanted);
        }
        Err(Failure::Refused(uneditable)) => {
            let why = format!("{}: {uneditable}", uneditable.kind.word());
            injection.findings.push(unchanged(&why, uneditable.offset).with_help(uneditable.kind.help()));
        }
        Err(Failure::Shared { offset }) => {
            let help =
                "part the two manifests that stand here, or remove what is of neither a ClusterRole nor a binding";
            injection.findings.push(unchanged("something else stands in the same place", offset).with_help(help));
        }
        Err(Failure::Fault { message, offset }) => {
            injection.faults.push(Finding::verify_failed(message, offset));
        }
    }
}

fn unchanged(why: &str, offset: usize) -> Finding {
    let message = format!("the permissions of the agents cannot be changed here: {why}");
    Finding::new(Reason::Uneditable, message, offset, "")
}

/// What the outcomes need, without what somebody else provides under the same name.
fn wanted(config: &Config, permissions: Permissions, injection: &mut Injection, present: &Present) -> Vec<Wanted> {
    let mut grants = Grants::default();
    grants.take(&injection.outcomes);
    let mut wanted = Vec::new();
    for grant in grants.iter() {
        let comments = comments(grant, config.spec.kubernetes_version);
        for (object, comments) in objects(grant, config).into_iter().zip(comments) {
            match present.others.iter().find(|other| is_same(&other.identity, &object)) {
                Some(other) => injection.remarks.push(is_there(other)),
                None => wanted.push(Wanted { object, comments }),
            }
        }
    }
    let has_path = |outcome: &Outcome| outcome.rbac_subject.is_some() && outcome.file.is_some();
    if permissions == Permissions::Items && injection.outcomes.iter().any(has_path) {
        // kpt writes items to files, by these two; kustomize has none of them.
        for (index, wanted) in wanted.iter_mut().enumerate() {
            let path = format!("mackerel-agent-injector-{}-rbac.yaml", config.name);
            annotate(&mut wanted.object, "config.kubernetes.io/index", index.to_string());
            annotate(&mut wanted.object, "config.kubernetes.io/path", path);
        }
    }
    wanted
}

/// Somebody else's object under the name of ours.
fn is_there(other: &Other) -> Remark {
    let Other { identity, offset, file } = other;
    let message = "it has the name that ours would have, without our record, and stays as it is";
    let help = "take it out, so that it is written with what these agents need, or set `rbac.generate: false`";
    Remark {
        identity: identity.clone(),
        offset: *offset,
        file: file.clone(),
        finding: Finding::new(Reason::RbacPresent, message, *offset, "").with_help(help),
    }
}

/// An agent that stays although it is no longer wanted, or could not be brought up to date, goes on reading.
fn with_still_needed(mut wanted: Vec<Wanted>, present: &Present, outcomes: &[Outcome]) -> Vec<Wanted> {
    let stays = |outcome: &Outcome| outcome.warnings.iter().any(|warning| warning.reason == Reason::StillInjected);
    if outcomes.iter().any(stays) {
        for ours in &present.ours {
            if !wanted.iter().any(|wanted| is_same(&ours.identity, &wanted.object)) {
                let mut object = ours.value.clone();
                if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
                    annotations.shift_remove(Annotation::Record.key());
                }
                wanted.push(Wanted { object, comments: Vec::new() });
            }
        }
    }
    wanted
}

fn is_same(identity: &Identity, object: &Value) -> bool {
    object["kind"] == *identity.kind && object["metadata"]["name"] == *identity.name
}

fn is_said_already(present: &Present, wanted: &[Wanted]) -> bool {
    present.ours.len() == wanted.len()
        && wanted.iter().all(|wanted| {
            let mut same = present.ours.iter().filter(|ours| is_same(&ours.identity, &wanted.object));
            same.any(|ours| permits_the_same(ours, wanted))
        })
}

/// Other tools add annotations and labels.
fn permits_the_same(ours: &Ours, wanted: &Wanted) -> bool {
    ["rules", "roleRef", "subjects"].iter().all(|field| ours.value.get(field) == wanted.object.get(field))
}

/// The edits that take ours out, inject what is left, and put in what is wanted.
fn rewritten(
    text: &str,
    present: &Present,
    wanted: &[Wanted],
    permissions: Permissions,
    injection: &mut Injection,
    again: impl FnOnce(&str) -> Injection,
) -> Result<Vec<Edit>, Failure> {
    let add = |text: &str| match permissions {
        _ if wanted.is_empty() => Ok(Vec::new()),
        Permissions::Leave => Ok(Vec::new()),
        Permissions::Documents => Ok(addition::to_stream(text, wanted)),
        Permissions::Items => addition::to_list(text, wanted),
    };
    let both = |mut added: Vec<Edit>, edits: Vec<Edit>| {
        added.extend(edits);
        // Stable: what was added stands in front.
        added.sort_by_key(|edit| edit.range.start);
        added
    };
    if present.ours.is_empty() {
        return Ok(both(add(text)?, std::mem::take(&mut injection.edits)));
    }
    let removal = present.removal(text)?;
    let bare = edit::apply(text, &removal);
    let added = add(&bare)?;
    let Injection { edits, faults, .. } = again(&bare);
    injection.faults.extend(faults);
    Ok(edit::compose(text, &removal, &both(added, edits)))
}

/// What is different afterwards.
fn changes(present: &Present, wanted: &[Wanted]) -> Vec<(PermissionChange, Identity)> {
    let identity = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Identity {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: None,
            name: text(&object["metadata"]["name"]),
        }
    };
    let before = |wanted: &Wanted| -> Vec<&Ours> {
        present.ours.iter().filter(|ours| is_same(&ours.identity, &wanted.object)).collect()
    };
    let goes = |ours: &&Ours| !wanted.iter().any(|wanted| is_same(&ours.identity, &wanted.object));
    let removed = present.ours.iter().filter(goes).map(|ours| (PermissionChange::Removed, ours.identity.clone()));
    let written = wanted.iter().filter_map(|wanted| match before(wanted)[..] {
        [] => Some((PermissionChange::Added, identity(&wanted.object))),
        [ours] if permits_the_same(ours, wanted) => None,
        // Also where one of two stays: two streams were put together.
        [..] => Some((PermissionChange::Updated, identity(&wanted.object))),
    });
    removed.chain(written).collect()
}
