//! Walks the overlay once, along the changes, and writes edits.

use super::cache::Cache;
use super::comment::Around;
use super::content::Carrying;
use super::edits::Edits;
use super::error::{ErrorKind, SpliceError};
use super::layout::{Examples, Level};
use super::lines::Lines;
use super::members::{Key, MemberList, PatchedMember};
use super::overlay::{MemberOverlay, Overlay};
use super::plan::{self, Element, SplicePlan, SpliceStep};
use crate::edit::Edit;
use crate::tree::{NodeId, Style, Tree};

pub(crate) struct Writer<'a, 't> {
    pub(super) tree: &'a Tree<'t>,
    pub(super) lines: Lines<'t>,
    pub(super) out: Edits,
    pub(super) cache: &'a Cache,
    pub(super) carrying: Carrying,
    pub(crate) around: Around,
    /// Each replacement is written as if it were the only one.
    pub(crate) alone: bool,
    /// The collections from the root down to the one being edited.
    pub(super) path: Vec<Level>,
    pub(super) examples: Examples<'t>,
    /// One for each collection that cannot be changed.
    errors: Vec<SpliceError>,
}

/// The place of a collection in its parent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot {
    Root,
    /// The place after a colon or a dash that ends here, or the place of a flow item.
    Behind(usize),
}

impl<'a, 't> Writer<'a, 't> {
    pub(crate) fn new(tree: &'a Tree<'t>, cache: &'a Cache, carrying: Carrying) -> Self {
        Self {
            tree,
            cache,
            carrying,
            around: Around::default(),
            alone: false,
            lines: Lines { text: tree.text() },
            out: Edits::default(),
            path: Vec::new(),
            examples: Examples::default(),
            errors: Vec::new(),
        }
    }

    /// The edits, or everything that keeps them from being made: never nothing.
    pub(crate) fn document(mut self, overlay: &Overlay) -> Result<Vec<Edit>, Vec<SpliceError>> {
        if let Err(error) = self.root(overlay) {
            self.errors.push(error);
        }
        if self.errors.is_empty() {
            self.out.finish(self.tree, self.cache)
        } else {
            Err(self.errors)
        }
    }

    fn root(&mut self, overlay: &Overlay) -> Result<(), SpliceError> {
        match overlay {
            Overlay::Nothing | Overlay::Old(_) => Ok(()),
            Overlay::Map { .. } | Overlay::Seq { .. } => {
                self.collection(overlay, None, Slot::Root);
                Ok(())
            }
            Overlay::New(value) | Overlay::Carried { value, .. } => self.replace_root(value),
            Overlay::Null(_) => self.replace_root(&serde_json::Value::Null),
        }
    }

    /// Changes a collection; if that fails, the others around it are gone on with, so that all errors are found.
    fn collection(&mut self, overlay: &Overlay, key: Option<NodeId>, slot: Slot) {
        if let Err(error) = self.changed(overlay, key, slot) {
            self.errors.push(error);
        }
    }

    fn changed(
        &mut self,
        overlay: &Overlay,
        key: Option<NodeId>,
        slot: Slot,
    ) -> Result<(), SpliceError> {
        let (node, plan) = match overlay {
            Overlay::Map { node, members } if members.iter().all(stays) => {
                self.enter(*node, key);
                self.inside_members(members);
                self.path.pop();
                return Ok(());
            }
            Overlay::Map { node, members } => {
                (*node, plan::mapping(self.tree, &self.lines, *node, members))
            }
            Overlay::Seq { node, items } => {
                (*node, plan::sequence(self.tree, &self.lines, *node, items)?)
            }
            _ => return Ok(()),
        };
        let is_tagged = self
            .tree
            .tag(node)
            .is_some_and(|tag| !matches!(tag, "!!map" | "!!seq"));
        if is_tagged && plan.leaves_nothing() {
            return Err(ErrorKind::Tag.at(self.tree.outer_start(node)));
        }
        self.enter(node, key);
        let written = match self.tree.style(node) {
            _ if !plan.changes_itself() => {
                self.inside(&plan);
                Ok(())
            }
            Style::Flow => self.flow(node, &plan, slot),
            _ => self.block(node, &plan, slot),
        };
        self.path.pop();
        written
    }

    fn enter(&mut self, node: NodeId, key: Option<NodeId>) {
        self.path.push(Level::new(self.tree, node, key));
    }

    /// Changes members inside, in a mapping to which none comes and of which none goes: most of those on the way to a change.
    fn inside_members(&mut self, members: &MemberList<Overlay>) {
        for PatchedMember { key, value } in members.iter() {
            if let Key::Old(key) = key
                && let Overlay::Map { node, .. } | Overlay::Seq { node, .. } = value
            {
                let element = plan::member(self.tree, &self.lines, *key, *node);
                self.inside_element(&element, value);
            }
        }
    }

    pub(super) fn inside(&mut self, plan: &SplicePlan<'_>) {
        for step in &plan.steps {
            if let SpliceStep::Descend(index, overlay) = *step {
                self.element_inside(plan, index, overlay);
            }
        }
    }

    pub(super) fn element_inside(
        &mut self,
        plan: &SplicePlan<'_>,
        index: usize,
        overlay: &Overlay,
    ) {
        if let Some(element) = plan.elements.get(index) {
            self.inside_element(element, overlay);
        }
    }

    fn inside_element(&mut self, element: &Element, overlay: &Overlay) {
        let slot = Slot::Behind(element.mark.unwrap_or(element.start));
        self.collection(overlay, element.key, slot);
    }
}

/// True for a member of the text that is not replaced.
fn stays(member: &MemberOverlay) -> bool {
    matches!(member.key, Key::Old(_)) && member.value.node().is_some()
}
