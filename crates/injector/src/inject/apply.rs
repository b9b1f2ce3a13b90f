//! Carries out the changes of a plan: spliced and verified edits, or a refusal for each change that cannot be made.

use crate::inject::plan::PiecePlan;
use crate::inject::refusal::{refuse, template, unparseable};
use crate::options::Patches;
use crate::reconcile::apply::{ApplyError, apply_changes};
use crate::reconcile::own_annotations::RecordCache;
use config::OnError;
use manifest::go_yaml;
use report::Finding;
use yaml_json_patch::edit::Edit;
use yaml_json_patch::{Cache, Tree};

/// Carries out plans, and shares work between them.
pub struct Applier {
    pub cache: Cache,
    pub records: RecordCache,
    pub patches: Patches,
    pub on_error: OnError,
}

/// The edits of one piece.
#[derive(Default)]
pub struct Applied {
    /// Offsets are bytes of the piece.
    pub edits: Vec<Edit>,
    /// A result that failed its own check: then there are no edits.
    pub fault: Option<Finding>,
}

impl Applier {
    /// Carries out the changes of a plan, and gives their patches to its outcomes. A change that cannot be made is refused, and
    /// the others begin again without it, so that no template is left half changed.
    pub fn apply(&self, tree: &Tree<'_>, plan: &mut PiecePlan) -> Applied {
        // A document with aliases has been read as Kubernetes reads it before its plan was made.
        if !plan.changes.is_empty() && !tree.has_aliases() && self.refuses_document(tree, plan) {
            return Applied::default();
        }
        let PiecePlan {
            outcomes, changes, ..
        } = plan;
        while !changes.is_empty() {
            match apply_changes(tree, changes, self.patches, &self.cache, &self.records) {
                Ok(done) => {
                    for (change, patch) in changes.iter().zip(done.patches) {
                        if let Some(outcome) = outcomes.get_mut(change.outcome) {
                            outcome.patch = patch;
                        }
                    }
                    return Applied {
                        edits: done.edits,
                        fault: None,
                    };
                }
                Err(ApplyError::Refused(refused)) => {
                    let mut refused = refused.into_iter().peekable();
                    for (index, change) in std::mem::take(changes).into_iter().enumerate() {
                        match refused.next_if(|(refused, _)| *refused == index) {
                            Some((_, refusal)) => refuse(outcomes, change, refusal, self.on_error),
                            None => changes.push(change),
                        }
                    }
                }
                Err(ApplyError::Fault { message }) => {
                    // The fault is in a text that the user does not see: the first template shows its origin.
                    let start = changes
                        .first()
                        .map_or(0, |change| tree.place(change.view.node).start);
                    return Applied {
                        edits: Vec::new(),
                        fault: Some(Finding::verify_failed(message, start)),
                    };
                }
            }
        }
        Applied::default()
    }

    /// Refuses all changes of a document that is a template, or that Kubernetes cannot read.
    fn refuses_document(&self, tree: &Tree<'_>, plan: &mut PiecePlan) -> bool {
        let unreadable = || {
            let error = go_yaml::rejected_by_go_yaml(tree)?;
            Some(unparseable(tree.text(), &error))
        };
        let Some(refusal) = template(tree).or_else(unreadable) else {
            return false;
        };
        for change in plan.changes.drain(..) {
            refuse(&mut plan.outcomes, change, refusal.clone(), self.on_error);
        }
        true
    }
}
