//! `rbac.generate`: the permissions as documents of a stream or items of a ResourceList.
//!
//! A run removes the objects of an earlier one and writes those that it needs, so that a changed configuration gives the same
//! bytes as a first run with it. If all objects grant the right permissions already, they keep their place and layout, since
//! another tool may have moved or printed them.

use crate::config::{Config, Rbac};
use crate::inject::Injection;
use crate::inject::outcome::{Outcome, Remark};
use crate::mackerel::annotations::Annotation;
use crate::manifest::identity::Identity;
use crate::options::{Direction, Options, Permissions};
use crate::rbac::Grants;
use crate::rbac::addition::{self, Wanted, annotate};
use crate::rbac::apply::RbacError;
use crate::rbac::existing::{Existing, Managed, Unmanaged};
use crate::rbac::manifest::comments;
use crate::rbac::objects::objects;
use crate::report::{Finding, PermissionChange, Reason};
use serde_json::Value;
use yaml_json_patch::edit::{self, Edit};

/// Updates the permissions in `text` to those that the injection needs, and adds the edits to it. `again` injects another
/// text.
pub(crate) fn write(
    text: &str,
    config: &Config,
    options: Options,
    injection: &mut Injection,
    again: impl FnOnce(&str) -> Injection,
) {
    let existing = Existing::of(text);
    let wanted = match options.direction {
        Direction::Inject if config.spec.rbac.generate => {
            wanted(config, options.permissions, injection, &existing)
        }
        Direction::Inject | Direction::Uninject => Vec::new(),
    };
    let wanted = with_still_needed(wanted, &existing, &injection.outcomes);
    if is_said_already(&existing, &wanted) {
        return;
    }
    if let Some(offset) = existing.unreadable {
        let finding = unchanged(
            "a document that may contain RBAC objects cannot be read",
            offset,
        );
        injection
            .findings
            .push(finding.with_help("correct the document"));
        return;
    }
    match rewritten(
        text,
        &existing,
        &wanted,
        options.permissions,
        injection,
        again,
    ) {
        Ok(edits) => {
            injection.edits = edits;
            injection.permissions = changes(&existing, &wanted);
        }
        Err(RbacError::Uneditable(uneditable)) => {
            let why = format!("{}: {uneditable}", uneditable.kind.word());
            injection
                .findings
                .push(unchanged(&why, uneditable.offset).with_help(uneditable.kind.help()));
        }
        Err(RbacError::NotExact { why, help, offset }) => {
            injection
                .findings
                .push(unchanged(why, offset).with_help(help));
        }
        Err(RbacError::VerifyFailed { message, offset }) => {
            injection
                .findings
                .push(Finding::verify_failed(message, offset));
        }
    }
}

fn unchanged(why: &str, offset: usize) -> Finding {
    let message = format!("cannot update the RBAC objects of the agents: {why}");
    Finding::new(Reason::Uneditable, message, offset, "")
}

/// The objects that the outcomes need, without those that exist under the same name unmanaged.
fn wanted(
    config: &Config,
    permissions: Permissions,
    injection: &mut Injection,
    existing: &Existing,
) -> Vec<Wanted> {
    let mut grants = Grants::default();
    grants.take(&injection.outcomes);
    let mut wanted = Vec::new();
    for grant in grants.iter() {
        let comments = comments(grant, config.spec.kubernetes_version);
        for (object, comments) in objects(grant, config).into_iter().zip(comments) {
            match existing
                .unmanaged
                .iter()
                .find(|other| is_same(&other.identity, &object))
            {
                Some(other) => injection.remarks.push(is_there(other)),
                None => wanted.push(Wanted { object, comments }),
            }
        }
    }
    let has_path = |outcome: &Outcome| outcome.agent().is_some() && outcome.file.is_some();
    if permissions == Permissions::Items && injection.outcomes.iter().any(has_path) {
        // kpt writes items to files by these two annotations; kustomize does not use them.
        for (index, wanted) in wanted.iter_mut().enumerate() {
            let path = format!("mackerel-agent-injector-{}-rbac.yaml", config.name);
            annotate(
                &mut wanted.object,
                "config.kubernetes.io/index",
                index.to_string(),
            );
            annotate(&mut wanted.object, "config.kubernetes.io/path", path);
        }
    }
    wanted
}

/// The remark on an unmanaged object that has the name of a needed one.
fn is_there(other: &Unmanaged) -> Remark {
    let Unmanaged {
        identity,
        offset,
        file,
        ..
    } = other;
    let message = "the object has the name of a generated RBAC object, but this tool did not generate it; it is unchanged";
    let help = format!(
        "remove it to have it generated, or set `{}: false`",
        Rbac::generate()
    );
    Remark {
        identity: identity.clone(),
        offset: *offset,
        file: file.clone(),
        finding: Finding::new(Reason::RbacPresent, message, *offset, "").with_help(help),
        unknown: None,
    }
}

/// Adds all managed objects if an agent stays although it is no longer wanted, or could not be updated: it still reads.
fn with_still_needed(
    mut wanted: Vec<Wanted>,
    existing: &Existing,
    outcomes: &[Outcome],
) -> Vec<Wanted> {
    let stays = |outcome: &Outcome| {
        outcome
            .warnings
            .iter()
            .any(|warning| warning.reason == Reason::StillInjected)
    };
    if outcomes.iter().any(stays) {
        for managed in &existing.managed {
            if !wanted
                .iter()
                .any(|wanted| is_same(&managed.identity, &wanted.object))
            {
                let mut object = managed.value.clone();
                if let Some(annotations) = object
                    .pointer_mut("/metadata/annotations")
                    .and_then(Value::as_object_mut)
                {
                    annotations.shift_remove(Annotation::Record.key());
                }
                wanted.push(Wanted {
                    object,
                    comments: Vec::new(),
                });
            }
        }
    }
    wanted
}

fn is_same(identity: &Identity, object: &Value) -> bool {
    object["kind"] == *identity.kind && object["metadata"]["name"] == *identity.name
}

fn is_said_already(existing: &Existing, wanted: &[Wanted]) -> bool {
    existing.managed.len() == wanted.len()
        && wanted.iter().all(|wanted| {
            let mut same = existing
                .managed
                .iter()
                .filter(|managed| is_same(&managed.identity, &wanted.object));
            same.any(|managed| permits_the_same(managed, wanted))
        })
}

/// Compares the permissions only, since other tools add annotations and labels.
fn permits_the_same(managed: &Managed, wanted: &Wanted) -> bool {
    ["rules", "roleRef", "subjects"]
        .iter()
        .all(|field| managed.value.get(field) == wanted.object.get(field))
}

/// The edits that remove the managed objects, inject the rest and add the wanted objects.
fn rewritten(
    text: &str,
    existing: &Existing,
    wanted: &[Wanted],
    permissions: Permissions,
    injection: &mut Injection,
    again: impl FnOnce(&str) -> Injection,
) -> Result<Vec<Edit>, RbacError> {
    let add = |text: &str| match permissions {
        _ if wanted.is_empty() => Ok(Vec::new()),
        Permissions::Leave => Ok(Vec::new()),
        Permissions::Documents => addition::to_stream(text, wanted),
        Permissions::Items => addition::to_list(text, wanted),
    };
    let both = |mut added: Vec<Edit>, edits: Vec<Edit>| {
        added.extend(edits);
        // The sort is stable: added objects stay in front.
        added.sort_by_key(|edit| edit.range.start);
        added
    };
    if existing.managed.is_empty() {
        return Ok(both(add(text)?, std::mem::take(&mut injection.edits)));
    }
    let removal = existing.removal(text)?;
    let bare = edit::apply(text, &removal);
    let added = add(&bare)?;
    let Injection {
        edits, findings, ..
    } = again(&bare);
    injection.findings.extend(
        findings
            .into_iter()
            .filter(|finding| finding.reason == Reason::VerifyFailed),
    );
    Ok(edit::compose(text, &removal, &both(added, edits)))
}

/// The objects that were added, updated or removed.
fn changes(existing: &Existing, wanted: &[Wanted]) -> Vec<(PermissionChange, Identity)> {
    let identity = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Identity {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: None,
            name: text(&object["metadata"]["name"]),
            is_generated: false,
        }
    };
    let before = |wanted: &Wanted| -> Vec<&Managed> {
        existing
            .managed
            .iter()
            .filter(|managed| is_same(&managed.identity, &wanted.object))
            .collect()
    };
    let goes = |managed: &&Managed| {
        !wanted
            .iter()
            .any(|wanted| is_same(&managed.identity, &wanted.object))
    };
    let removed = existing
        .managed
        .iter()
        .filter(goes)
        .map(|managed| (PermissionChange::Removed, managed.identity.clone()));
    let written = wanted.iter().filter_map(|wanted| match before(wanted)[..] {
        [] => Some((PermissionChange::Added, identity(&wanted.object))),
        [managed] if permits_the_same(managed, wanted) => None,
        // Also if one of two equal objects goes, after two streams were concatenated.
        [..] => Some((PermissionChange::Updated, identity(&wanted.object))),
    });
    removed.chain(written).collect()
}
