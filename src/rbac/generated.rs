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
use crate::rbac::addition::{self, ObjectName, Wanted, annotate};
use crate::rbac::apply::RbacError;
use crate::rbac::existing::{Existing, Managed, Unmanaged};
use crate::rbac::manifest::comments;
use crate::rbac::objects::objects;
use crate::report::{Finding, PermissionChange, Reason};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use yaml_json_patch::edit::{self, Edit};

/// Updates the permissions in `text` to those that the injection needs, and adds the edits to it. `inject_again` injects another
/// text.
pub(crate) fn write(
    text: &str,
    config: &Config,
    options: Options,
    injection: &mut Injection,
    inject_again: impl FnOnce(&str) -> Injection,
) {
    let existing = Existing::of(text, &injection.related);
    let mut wanted = Vec::new();
    if options.direction == Direction::Inject && config.spec.rbac.generate {
        wanted = needed(config, options.permissions, injection, &existing);
    }
    if injection.outcomes.iter().any(is_still_injected) {
        keep(&existing, &mut wanted);
    }
    let update = Update {
        text,
        permissions: options.permissions,
        existing: &existing,
        wanted: &wanted,
    };
    let changes = update.changes();
    if changes.is_empty() {
        return;
    }
    match update.edits(injection, inject_again) {
        Ok(edits) => {
            injection.edits = edits;
            injection.permissions = changes;
        }
        Err(error) => injection.findings.push(error.finding()),
    }
}

/// Returns the objects that the outcomes need, without those that exist under the same name unmanaged.
fn needed(
    config: &Config,
    permissions: Permissions,
    injection: &mut Injection,
    existing: &Existing,
) -> Vec<Wanted> {
    let mut grants = Grants::default();
    grants.take(&injection.outcomes);
    let mut unmanaged: HashMap<ObjectName<'_>, &Unmanaged> = HashMap::new();
    for other in &existing.unmanaged {
        unmanaged
            .entry(ObjectName::of(&other.identity))
            .or_insert(other);
    }
    let mut needed = Vec::new();
    for grant in grants.iter() {
        let comments = comments(grant, config.spec.kubernetes_version);
        for (object, comments) in objects(grant, config).into_iter().zip(comments) {
            let object = Wanted { object, comments };
            match unmanaged.get(&object.name()) {
                Some(other) => injection.remarks.push(rbac_present(other)),
                None => needed.push(object),
            }
        }
    }
    let has_file = |outcome: &Outcome| outcome.agent().is_some() && outcome.file.is_some();
    if permissions == Permissions::Items && injection.outcomes.iter().any(has_file) {
        // kpt writes items to files by these two annotations; kustomize does not use them.
        for (index, Wanted { object, .. }) in needed.iter_mut().enumerate() {
            let path = format!("mackerel-agent-injector-{}-rbac.yaml", config.name);
            annotate(object, "config.kubernetes.io/index", index.to_string());
            annotate(object, "config.kubernetes.io/path", path);
        }
    }
    needed
}

/// Returns the remark on an unmanaged object that has the name of a needed one.
fn rbac_present(other: &Unmanaged) -> Remark {
    let message = "the object has the name of a generated RBAC object, but this tool did not generate it; it is unchanged";
    let help = format!(
        "remove it to have it generated, or set `{}: false`",
        Rbac::generate()
    );
    let finding = Finding::new(Reason::RbacPresent, message, other.offset, "");
    Remark {
        identity: other.identity.clone(),
        offset: other.offset,
        file: other.file.clone(),
        finding: finding.with_help(help),
        unknown: None,
        workloads: Vec::new(),
    }
}

/// Returns true if an agent stays although it is no longer wanted, or could not be updated.
fn is_still_injected(outcome: &Outcome) -> bool {
    let mut warnings = outcome.warnings.iter();
    warnings.any(|warning| warning.reason == Reason::StillInjected)
}

/// Adds all managed objects to the wanted ones.
fn keep(existing: &Existing, wanted: &mut Vec<Wanted>) {
    let mut names: HashSet<ObjectName<'_>> = wanted.iter().map(Wanted::name).collect();
    let mut kept = Vec::new();
    for managed in &existing.managed {
        if !names.insert(ObjectName::of(&managed.identity)) {
            continue;
        }
        let mut object = managed.value.clone();
        let annotations = object.pointer_mut("/metadata/annotations");
        if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
            annotations.shift_remove(Annotation::Record.key());
        }
        kept.push(Wanted {
            object,
            comments: Vec::new(),
        });
    }
    wanted.extend(kept);
}

/// The objects of a text before and after a run.
struct Update<'u> {
    text: &'u str,
    permissions: Permissions,
    existing: &'u Existing,
    wanted: &'u [Wanted],
}

impl Update<'_> {
    /// Returns the objects that are to be added, updated or removed.
    fn changes(&self) -> Vec<(PermissionChange, Identity)> {
        let wanted: HashSet<ObjectName<'_>> = self.wanted.iter().map(Wanted::name).collect();
        let mut managed: HashMap<ObjectName<'_>, Vec<&Managed>> = HashMap::new();
        let mut changes = Vec::new();
        for object in &self.existing.managed {
            let name = ObjectName::of(&object.identity);
            if !wanted.contains(&name) {
                changes.push((PermissionChange::Removed, object.identity.clone()));
            }
            managed.entry(name).or_default().push(object);
        }
        for wanted in self.wanted {
            let existing = managed.get(&wanted.name());
            let change = match existing.map(Vec::as_slice) {
                None => PermissionChange::Added,
                Some([managed]) if wanted.permits_as(managed) => continue,
                // Also if one of two equal objects goes, after two streams were concatenated.
                Some(_) => PermissionChange::Updated,
            };
            changes.push((change, wanted.identity()));
        }
        changes
    }

    /// Returns the edits that remove the managed objects, inject the rest and add the wanted objects.
    fn edits(
        &self,
        injection: &mut Injection,
        inject_again: impl FnOnce(&str) -> Injection,
    ) -> Result<Vec<Edit>, RbacError> {
        if let Some(offset) = self.existing.unreadable {
            return Err(RbacError::NotExact {
                why: "a document that may contain RBAC objects cannot be read",
                help: "correct the document",
                offset,
            });
        }
        if self.existing.managed.is_empty() {
            let added = self.addition(self.text)?;
            return Ok(merged(added, std::mem::take(&mut injection.edits)));
        }
        let removal = self.existing.removal(self.text)?;
        let bare = edit::apply(self.text, &removal);
        let added = self.addition(&bare)?;
        let Injection {
            edits, findings, ..
        } = inject_again(&bare);
        for finding in findings {
            if finding.reason == Reason::VerifyFailed {
                injection.findings.push(finding);
            }
        }
        Ok(edit::compose(self.text, &removal, &merged(added, edits)))
    }

    fn addition(&self, text: &str) -> Result<Vec<Edit>, RbacError> {
        match self.permissions {
            _ if self.wanted.is_empty() => Ok(Vec::new()),
            Permissions::Leave => Ok(Vec::new()),
            Permissions::Documents => addition::to_stream(text, self.wanted),
            Permissions::Items => addition::to_list(text, self.wanted),
        }
    }
}

/// Returns both in order of the text.
fn merged(mut added: Vec<Edit>, edits: Vec<Edit>) -> Vec<Edit> {
    added.extend(edits);
    // The sort is stable: added objects stay in front.
    added.sort_by_key(|edit| edit.range.start);
    added
}
