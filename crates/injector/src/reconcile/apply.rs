//! Applies planned changes: splices their operations into the text and verifies the result, in at most two steps.

use crate::agent::existing::ExistingInjection;
use crate::agent::plan::Plan;
use crate::options::Patches;
use crate::reconcile::own_annotations::RecordCache;
use crate::reconcile::patch::{AgentPlace, PatchTarget, TemplatePatch, UneditableChange};
use json_patch::Patch;
use manifest::{ItemCache, PodTemplate, go_yaml};
use report::{BUG, Finding};
use std::collections::BTreeMap;
use yaml_json_patch::edit::{self, Edit};
use yaml_json_patch::{
    self as yaml, Cache, ErrorKind, NodeId, Operation, SpliceError, Tree, Uneditable, YamlError,
    splice_in, verify,
};

/// The action for one template, in two steps.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Action {
    /// Removes the existing injection.
    pub first: TemplatePatch,
    /// Is added afterwards.
    pub then: Option<Addition>,
    /// The finding of the decision if the existing injection is no longer wanted: reported when it cannot be removed.
    pub unwanted: Option<Finding>,
}

/// Components to add.
#[derive(Debug, Clone, PartialEq)]
pub struct Addition {
    pub plan: Plan,
    pub place: AgentPlace,
}

impl Action {
    /// Removes the existing injection, and adds nothing.
    pub(super) fn remove(first: TemplatePatch) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }
}

/// The change of one template of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedChange {
    /// Index of its outcome.
    pub outcome: usize,
    /// JSON Pointer from the document's root to the resource.
    pub resource: String,
    /// JSON Pointer from the resource to the template.
    pub template: String,
    /// The template as it is.
    pub view: PodTemplate,
    pub existing: Option<ExistingInjection>,
    pub action: Action,
}

impl PlannedChange {
    /// JSON Pointer from the document's root to the template.
    fn path(&self) -> String {
        [&*self.resource, &self.template].concat()
    }
}

/// The edits of applied changes.
pub struct AppliedChanges {
    /// The edits of the source.
    pub edits: Vec<Edit>,
    /// One per change, with pointers from the resource; empty unless the caller asks for patches.
    pub patches: Vec<Patch>,
}

/// The reason why no change was applied.
pub enum ApplyError {
    /// These changes cannot be made safely.
    Refused(Vec<(usize, UneditableChange)>),
    /// The result is not what the patch says: a bug of this program.
    Fault { message: String },
}

/// Applies all changes or none. The first step removes old components, the second adds new ones to the text without
/// them. So the bytes are those that an injection into the original template gives.
pub fn apply_changes(
    tree: &Tree<'_>,
    changes: &[PlannedChange],
    keep: Patches,
    cache: &Cache,
    records: &RecordCache,
) -> Result<AppliedChanges, ApplyError> {
    let first: Vec<TemplatePatch> = changes
        .iter()
        .map(|change| change.action.first.clone())
        .collect();
    let (removed, intermediate) = splice_and_verify(tree, changes, first, cache)?;
    let intermediate = match &intermediate {
        Some(text) => Some(cache.read_edited(tree, &removed, text).map_err(invalid)?),
        None => None,
    };
    let mut nodes = intermediate.as_ref().map(Nodes::of);
    let mut second = Vec::with_capacity(changes.len());
    let mut refused = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        match insertion_for(tree, nodes.as_mut(), change, records) {
            Ok(patch) => second.push(patch),
            Err(refusal) => refused.push((index, refusal)),
        }
    }
    if !refused.is_empty() {
        return Err(ApplyError::Refused(refused));
    }
    let patches = match keep {
        Patches::Drop => Vec::new(),
        Patches::Keep => changes
            .iter()
            .zip(&second)
            .map(|(change, second)| change.action.first.then(second).seen_from(&change.resource))
            .collect(),
    };
    let (added, _) = match &intermediate {
        None => splice_and_verify(tree, changes, second, cache)?,
        Some(intermediate) => splice_and_verify(intermediate, changes, second, cache)
            .map_err(|failure| in_original(failure, tree, changes))?,
    };
    let edits = match (removed.is_empty(), added.is_empty()) {
        (_, true) => removed,
        (true, false) => added,
        (false, false) => edit::compose(tree.text(), &removed, &added),
    };
    Ok(AppliedChanges {
        edits: tree.edits_of_source(edits),
        patches,
    })
}

/// Replaces offsets in the intermediate text, which the user never sees, by those of the templates.
fn in_original(mut failure: ApplyError, tree: &Tree<'_>, changes: &[PlannedChange]) -> ApplyError {
    if let ApplyError::Refused(refused) = &mut failure {
        for (index, refusal) in refused {
            refusal.offset = changes
                .get(*index)
                .map_or(0, |change| tree.place(change.view.node).start);
        }
    }
    failure
}

/// Returns the operations that add the plan, to the intermediate text if there is one.
fn insertion_for(
    tree: &Tree<'_>,
    intermediate: Option<&mut Nodes<'_, '_>>,
    change: &PlannedChange,
    records: &RecordCache,
) -> Result<TemplatePatch, UneditableChange> {
    let Some(Addition { plan, place }) = &change.action.then else {
        return Ok(TemplatePatch::default());
    };
    let path = change.path();
    let Some(intermediate) = intermediate else {
        let target = PatchTarget {
            tree,
            template: &change.view,
            path: &path,
        };
        return target.insertion(plan, *place, records);
    };
    let Some(node) = intermediate.node(&path) else {
        return Err(UneditableChange {
            message: "the pod template is missing".to_owned(),
            help: BUG.to_owned(),
            offset: 0,
        });
    };
    let target = PatchTarget {
        tree: intermediate.tree,
        template: &PodTemplate::view(intermediate.tree, node),
        path: &path,
    };
    // The user never sees the intermediate text.
    let offset = tree.place(change.view.node).start;
    target
        .insertion(plan, *place, records)
        .map_err(|refusal| UneditableChange { offset, ..refusal })
}

/// A cache for lookups of many nodes of a tree.
struct Nodes<'a, 't> {
    tree: &'a Tree<'t>,
    items: ItemCache,
}

impl<'a, 't> Nodes<'a, 't> {
    fn of(tree: &'a Tree<'t>) -> Self {
        Self {
            tree,
            items: ItemCache::default(),
        }
    }

    fn node(&mut self, pointer: &str) -> Option<NodeId> {
        let Self { tree, items } = self;
        pointer
            .split('/')
            .skip(1)
            .try_fold(tree.root()?, |node, token| items.child(tree, node, token))
    }
}

/// Splices the patches, one per change, into the text and verifies the result. Without operations: no edits, no new text.
fn splice_and_verify(
    tree: &Tree<'_>,
    changes: &[PlannedChange],
    patches: Vec<TemplatePatch>,
    cache: &Cache,
) -> Result<(Vec<Edit>, Option<String>), ApplyError> {
    let (operations, holders): (Vec<Operation>, Vec<Option<NodeId>>) = patches
        .iter()
        .flat_map(|patch| patch.operations.iter().cloned())
        .unzip();
    if operations.is_empty() {
        return Ok((Vec::new(), None));
    }
    let spliced = splice_in(tree, operations, &holders, cache).map_err(|uneditable| {
        ApplyError::Refused(refused_changes(tree, changes, patches, &uneditable, cache))
    })?;
    let text = edit::apply(tree.text(), &spliced.edits);
    let new = cache
        .read_edited(tree, &spliced.edits, &text)
        .map_err(invalid)?;
    verify(tree, &spliced, &new, cache).map_err(|mismatch| ApplyError::Fault {
        message: mismatch.to_string(),
    })?;
    let tabs = edit::origins(&spliced.edits, &go_yaml::misplaced_tabs(&new));
    if !tabs.is_empty() {
        return Err(ApplyError::Refused(above_tabs(&tabs, tree, changes)));
    }
    cache.recycle(new);
    Ok((spliced.edits, Some(text)))
}

/// Finds the patches that cannot be carried out, each with its first error; `together` is the error of all of them.
fn refused_changes(
    tree: &Tree<'_>,
    changes: &[PlannedChange],
    patches: Vec<TemplatePatch>,
    together: &SpliceError,
    cache: &Cache,
) -> Vec<(usize, UneditableChange)> {
    let mut nodes = Nodes::of(tree);
    let starts = TemplateStarts::of(&mut nodes, changes);
    let mut refused = BTreeMap::new();
    for Uneditable { patch, error, .. } in yaml::find_uneditable(
        tree,
        patches
            .into_iter()
            .map(|patch| {
                patch
                    .operations
                    .into_iter()
                    .map(|(operation, _)| operation)
                    .collect()
            })
            .collect(),
        cache,
    ) {
        let index = patch.unwrap_or_else(|| starts.template_above(error.offset));
        refused.entry(index).or_insert_with(|| refusal(&error));
    }
    if refused.is_empty() {
        refused.insert(0, refusal(together));
    }
    refused.into_iter().collect()
}

/// Returns, for each template above tabs that the edits have made unreadable, the first such tab. White space belongs to the
/// value above it, which now is another one and may be indented deeper.
fn above_tabs(
    tabs: &[usize],
    tree: &Tree<'_>,
    changes: &[PlannedChange],
) -> Vec<(usize, UneditableChange)> {
    let starts = TemplateStarts::of(&mut Nodes::of(tree), changes);
    let mut refused = BTreeMap::new();
    for tab in tabs {
        let offset = tree.start() + tab;
        let index = starts.template_above(offset);
        refused
            .entry(index)
            .or_insert_with(|| refusal(&ErrorKind::Tabs.at(offset)));
    }
    refused.into_iter().collect()
}

/// The indices of changes by the offsets at which their templates begin.
struct TemplateStarts(BTreeMap<usize, usize>);

impl TemplateStarts {
    fn of(nodes: &mut Nodes<'_, '_>, changes: &[PlannedChange]) -> Self {
        let mut starts = BTreeMap::new();
        for (index, change) in changes.iter().enumerate() {
            if let Some(template) = nodes.node(&change.path()) {
                starts.insert(nodes.tree.place(template).start, index);
            }
        }
        Self(starts)
    }

    /// The template that holds the offset, or the one above it.
    fn template_above(&self, offset: usize) -> usize {
        self.0
            .range(..=offset)
            .next_back()
            .map_or(0, |(_, index)| *index)
    }
}

fn refusal(uneditable: &SpliceError) -> UneditableChange {
    UneditableChange {
        message: format!("{}: {uneditable}", uneditable.kind.word()),
        help: uneditable.kind.help().to_owned(),
        offset: uneditable.offset,
    }
}

fn invalid(error: YamlError) -> ApplyError {
    ApplyError::Fault {
        message: format!("the edited text is not valid YAML: {}", error.message),
    }
}
