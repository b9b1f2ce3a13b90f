//! Carries out what was judged: splices operations into the text and checks the result, in at most two steps.

use crate::agent::Agent;
use crate::edit::{self, Edit};
use crate::judge::Action;
use crate::patch::{Place, TemplatePatch, insertion};
use crate::pod_template::PodTemplate;
use crate::splice::{Spliced, splice};
use crate::yaml::{self, NodeId, Tree};
use json_patch::{Patch, PatchOperation};

/// What becomes of one template of the piece in hand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// Which of the outcomes tells of it.
    pub(crate) outcome: usize,
    /// JSON Pointer from the piece's root to the resource.
    pub(crate) resource: String,
    /// JSON Pointer from the resource to the template.
    pub(crate) template: String,
    pub(crate) action: Action,
}

/// Changes carried out.
pub(crate) struct Done {
    /// On the piece's text.
    pub(crate) edits: Vec<Edit>,
    /// Per change; pointers from the resource.
    pub(crate) operations: Vec<Vec<PatchOperation>>,
}

/// Why nothing was carried out.
pub(crate) enum Failure {
    /// One of the changes cannot be made safely.
    Refused { change: usize, uneditable: Refusal },
    /// The result is not what the patch says: a mistake of ours.
    Fault { message: String, offset: usize },
}

/// Why a change cannot be made safely.
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) help: String,
    /// In the piece's text.
    pub(crate) offset: usize,
}

/// Carries out all changes or none.
pub(crate) fn carry_out(tree: &Tree<'_>, changes: &[Change]) -> Result<Done, Failure> {
    let first: Vec<TemplatePatch> = changes.iter().map(|change| change.action.first.below(&change.resource)).collect();
    let (taken, between) = step(tree, &first)?;
    let between = match &between {
        Some(text) => Some(reread(text)?),
        None => None,
    };
    let now = between.as_ref().unwrap_or(tree);
    let second: Vec<TemplatePatch> = changes
        .iter()
        .enumerate()
        .map(|(index, change)| match &change.action.then {
            None => Ok(TemplatePatch::default()),
            Some((agent, place)) => goes_in(now, change, agent, *place).map_err(|uneditable| {
                let offset = if between.is_some() { 0 } else { uneditable.offset };
                Failure::Refused { change: index, uneditable: Refusal { offset, ..uneditable } }
            }),
        })
        .collect::<Result<_, _>>()?;
    let below: Vec<TemplatePatch> =
        changes.iter().zip(&second).map(|(change, patch)| patch.below(&change.resource)).collect();
    let (added, _) = step(now, &below)?;
    let operations = changes
        .iter()
        .zip(second)
        .map(|(change, second)| change.action.first.operations.iter().cloned().chain(second.operations).collect())
        .collect();
    let edits = match (taken.is_empty(), added.is_empty()) {
        (_, true) => taken,
        (true, false) => added,
        (false, false) => edit::compose(tree.text(), &taken, &added),
    };
    Ok(Done { edits, operations })
}

/// The operations that put the agent in, pointers from the resource.
fn goes_in(tree: &Tree<'_>, change: &Change, agent: &Agent, place: Place) -> Result<TemplatePatch, Refusal> {
    let node = locate(tree, &format!("{}{}", change.resource, change.template));
    let template = node.map(|node| PodTemplate::view(tree, node));
    let gone = || Refusal { message: "the template is gone".to_owned(), help: "report it".to_owned(), offset: 0 };
    let (patch, _) =
        insertion(tree, &template.ok_or_else(gone)?, &change.template, agent, place).map_err(|odd| Refusal {
            message: format!("`{}` is neither a collection nor null", odd.parent),
            help: "correct it; Kubernetes would refuse it too".to_owned(),
            offset: odd.offset,
        })?;
    Ok(patch)
}

/// The node at a JSON Pointer, aliases looked through.
fn locate(tree: &Tree<'_>, pointer: &str) -> Option<NodeId> {
    pointer.split('/').skip(1).try_fold(tree.root()?, |node, token| {
        let node = tree.resolve(node);
        match token.parse::<usize>() {
            Ok(index) if tree.items(node).next().is_some() => tree.items(node).nth(index),
            _ => crate::find::member(tree, node, &token.replace("~1", "/").replace("~0", "~")),
        }
    })
}

/// Splices the patches into the text and verifies the result. Without operations: no edits, no new text.
fn step(tree: &Tree<'_>, patches: &[TemplatePatch]) -> Result<(Vec<Edit>, Option<String>), Failure> {
    let mut all = TemplatePatch::default();
    let mut one: Option<Spliced> = None;
    let mut count = 0;
    for (change, patch) in patches.iter().enumerate().filter(|(_, patch)| !patch.operations.is_empty()) {
        let spliced = splice(tree, &Patch(patch.operations.clone()), &patch.spellings);
        one = Some(spliced.map_err(|uneditable| Failure::Refused {
            change,
            uneditable: Refusal {
                message: format!("{}: {uneditable}", uneditable.refusal.word()),
                help: uneditable.refusal.help().to_owned(),
                offset: uneditable.offset,
            },
        })?);
        all.operations.extend(patch.operations.iter().cloned());
        all.spellings.extend(patch.spellings.iter().cloned());
        count += 1;
    }
    let Some(one) = one else { return Ok((Vec::new(), None)) };
    // Templates do not overlap, so what can be done to each can be done to all.
    let spliced = if count == 1 { Ok(one) } else { splice(tree, &Patch(all.operations), &all.spellings) };
    let spliced =
        spliced.map_err(|uneditable| Failure::Fault { message: uneditable.to_string(), offset: uneditable.offset })?;
    let text = edit::apply(tree.text(), &spliced.edits);
    spliced
        .verify(tree, &reread(&text)?)
        .map_err(|mismatch| Failure::Fault { message: mismatch.to_string(), offset: mismatch.offset })?;
    Ok((spliced.edits, Some(text)))
}

fn reread(text: &str) -> Result<Tree<'_>, Failure> {
    yaml::read(text).map_err(|error| Failure::Fault {
        message: format!("the result is not valid YAML: {}", error.message),
        offset: 0,
    })
}
