//! Carries out operations on the patched document, in their order.

use super::batch::{Batch, Change};
use super::comment::{Around, Comments};
use super::error::{ErrorKind, SpliceError};
use super::members::PatchedMember;
use super::operation::{AnchorPolicy, Operation};
use super::overlay::{Overlay, equal};
use super::reading::{self, Found, Source, element, named, shortened};
use crate::json::to_json;
use crate::quote::{Context, quote};
use crate::tag::own_tags;
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};
use json_patch::jsonptr::{Pointer, PointerBuf, Token};
use serde_json::Value;
use std::sync::Arc;

/// The way in which the operations of a patch are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// At once, each at a place of its own: additions, removals and replacements, of which none hides what a merge key brings.
    Together,
    /// One after the other. A comment moves with its key or item, and a new member wins over a merged one.
    OneByOne(AnchorPolicy),
    /// As one after the other. The comment of a removed element goes with it, where it tells of nothing else.
    Edited(AnchorPolicy),
}

impl Manner {
    fn anchors(self) -> AnchorPolicy {
        match self {
            Manner::OneByOne(policy) | Manner::Edited(policy) => policy,
            Manner::Together => AnchorPolicy::Refuse,
        }
    }

    /// Refuses to drop what aliases refer to, whatever the policy.
    fn may_go(self, tree: &Tree<'_>, node: Option<NodeId>) -> Result<(), SpliceError> {
        let mut properties = node.into_iter().flat_map(|node| tree.properties_in(node));
        let Some(aliased) = properties.find(|properties| properties.aliased) else {
            return Ok(());
        };
        let error = ErrorKind::Anchor.at(aliased.start as usize);
        let detail = "an alias refers to an anchor in the value that goes";
        Err(match self {
            Manner::Together => error,
            _ => error.saying(detail.to_owned()),
        })
    }
}

/// Operations of a patch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operations<'o> {
    pub(crate) list: &'o [Operation],
    /// The index of the first in its patch.
    pub(crate) first: usize,
    pub(crate) manner: Manner,
    /// The collection that each of the first ones changes, where that is known.
    pub(crate) holders: &'o [Option<NodeId>],
}

impl<'o> Operations<'o> {
    pub(crate) fn together(list: &'o [Operation]) -> Self {
        Self {
            list,
            holders: &[],
            first: 0,
            manner: Manner::Together,
        }
    }
}

/// The patched document.
#[derive(Clone)]
pub(crate) struct Patched {
    pub(crate) overlay: Overlay,
    pub(crate) around: Around,
    /// Each replacement is written as if it were the only one.
    pub(crate) alone: bool,
    /// The number of operations that were carried out. The next one needs the text that these leave.
    pub(crate) count: usize,
}

/// Applies operations: all of them, or one after the other as many as one reading is enough for.
pub(super) fn apply(
    tree: &Tree<'_>,
    overlay: Overlay,
    operations: Operations<'_>,
) -> Result<Patched, SpliceError> {
    let mut document = OperationApplier {
        tree,
        root: overlay,
        manner: operations.manner,
        around: Around {
            closes_blocks: matches!(operations.manner, Manner::Edited(_)),
            ..Around::default()
        },
        holder: None,
        way: Vec::new(),
    };
    let alone = operations.manner != Manner::Together;
    let (mut batch, mut count) = (Batch::default(), 0);
    for (index, operation) in operations.list.iter().enumerate() {
        // Anchors and merge keys are met on the path.
        let holder = operations.holders.get(index).copied().flatten();
        document.holder = holder.filter(|_| tree.properties.is_empty());
        if alone && operations.list.len() > 1 && !document.joins(&mut batch, operation) {
            break;
        }
        document.apply(operations.first + index, operation)?;
        count += 1;
    }
    Ok(Patched {
        overlay: document.root,
        around: document.around,
        alone,
        count,
    })
}

/// Carries out operations.
struct OperationApplier<'d, 't> {
    tree: &'d Tree<'t>,
    root: Overlay,
    manner: Manner,
    around: Around,
    /// The collection that the operation in hand changes, where that is known.
    holder: Option<NodeId>,
    /// The collections of the text that the last path led through.
    way: Vec<NodeId>,
}

impl OperationApplier<'_, '_> {
    /// True if an operation can be carried out on the text that those before it have found. The first change always can.
    fn joins(&mut self, batch: &mut Batch, operation: &Operation) -> bool {
        let is_first = !batch.has_changes();
        if let Operation::Test { path, .. } = operation {
            return is_first || !batch.closed && self.untouched(path).is_some();
        }
        // A change of what aliases stand for is one at several places.
        let is_shared = self.manner.anchors() == AnchorPolicy::Follow && self.tree.has_aliases();
        let joins = !batch.closed
            && !is_shared
            && self
                .element(operation)
                .is_some_and(|change| batch.takes(self.tree, &self.way, &change));
        batch.closed |= !joins;
        is_first || joins
    }

    /// The change that an operation makes, if that is one of an element that no operation has changed before.
    fn element<'o>(&mut self, operation: &'o Operation) -> Option<Change<'o>> {
        let (path, new) = match operation {
            Operation::Add { path, value } | Operation::Replace { path, value } => {
                (path, Some(&**value))
            }
            Operation::Remove { path } => (path, None),
            _ => return None,
        };
        let tree = self.tree;
        let (parent, last) = path.split_back()?;
        let at = self.opened(parent).ok()?;
        let collection = at.node()?;
        let name = (tree.kind(collection) == Kind::Mapping).then(|| last.decoded().into_owned());
        let is_addition = matches!(operation, Operation::Add { .. });
        let old = match at.child(tree, &last, None).ok()? {
            None if is_addition => None,
            Some(Overlay::Old(old)) if name.is_some() || !is_addition => Some(*old),
            _ => return None,
        };
        Some(Change {
            collection,
            name,
            old,
            new,
        })
    }

    /// The node at a path, if no operation has changed it or anything in it.
    fn untouched(&mut self, path: &Pointer) -> Option<NodeId> {
        let tree = self.tree;
        let at = match path.split_back() {
            Some((parent, last)) => self.opened(parent).ok()?.child(tree, &last, None).ok()?,
            None => Some(&mut self.root),
        };
        match at? {
            Overlay::Old(node) => Some(*node),
            _ => None,
        }
    }

    fn apply(&mut self, index: usize, operation: &Operation) -> Result<(), SpliceError> {
        let tree = self.tree;
        let failed = |error: SpliceError, member, path: &PointerBuf| {
            let error = match error.kind {
                ErrorKind::InvalidPointer => reading::nowhere(tree, path),
                _ => error,
            };
            error.of_operation(index, member, path)
        };
        let path = operation.path();
        let Some(from) = operation.source_path() else {
            return self
                .change(operation)
                .map_err(|error| failed(error, "path", path));
        };
        let taken = self
            .take(operation, from)
            .map_err(|error| failed(error, "from", from))?;
        match taken {
            Some(carried) => self
                .add(path, carried, None)
                .map_err(|error| failed(error, "path", path)),
            None => Ok(()),
        }
    }

    /// Moves a member within its mapping: its key is written anew. Returns false if that is not all.
    fn rename(&mut self, from: &Pointer, path: &Pointer) -> Result<bool, SpliceError> {
        let tree = self.tree;
        let (Some((parent, old)), Some((other, new))) = (from.split_back(), path.split_back())
        else {
            return Ok(false);
        };
        if parent != other || old == new {
            return Ok(false);
        }
        match self.opened(parent)? {
            Overlay::Map { node, members } => {
                members.rename(tree, *node, &old.decoded(), &new.decoded())
            }
            _ => Ok(false),
        }
    }

    /// Takes the value at `from` to another place; none where that is done already. The text has not been changed yet.
    fn take(
        &mut self,
        operation: &Operation,
        from: &Pointer,
    ) -> Result<Option<Overlay>, SpliceError> {
        let path = operation.path();
        let is_move = matches!(operation, Operation::Move { .. });
        if self.manner == Manner::Together {
            return Err(ErrorKind::Layout.at(0));
        }
        if is_move && self.rename(from, path)? {
            return Ok(None);
        }
        let Found { value, source } = reading::find(self.tree, from)?.ok_or(NOWHERE)?;
        if is_move {
            if path == from {
                return Ok(None);
            }
            if path.starts_with(from) {
                return Err(ErrorKind::MovedIntoItself.at(0));
            }
            let parent = path.parent().unwrap_or(path);
            if reading::followed(self.tree, parent).is_some() {
                // Indices behind the alias may be others once the value is gone.
                return Err(ErrorKind::Alias.at(0));
            }
            self.remove(from)?;
            self.around.comments = Comments::of(self.tree, from);
        }
        let value = Arc::new(value);
        Ok(Some(match source {
            Some(source) => Overlay::Carried { value, source },
            None => Overlay::New(value),
        }))
    }

    fn change(&mut self, operation: &Operation) -> Result<(), SpliceError> {
        match operation {
            Operation::Add { path, value } => self.add(path, Overlay::New(Arc::clone(value)), None),
            Operation::InsertBefore {
                path,
                value,
                before,
            } => self.add(path, Overlay::New(Arc::clone(value)), Some(before)),
            Operation::InsertAfter { path, value, after } => {
                self.around.is_behind = true;
                self.add(path, Overlay::New(Arc::clone(value)), Some(after))
            }
            Operation::Replace { path, value } => {
                self.replace(path, Overlay::New(Arc::clone(value)))
            }
            Operation::RestoreNull { path, source } => {
                self.replace(path, Overlay::Null(source.clone()))
            }
            Operation::Remove { path } => {
                self.remove(path)?;
                if let Manner::Edited(_) = self.manner {
                    self.around.comments = Comments::of(self.tree, path).of_one(self.tree);
                }
                Ok(())
            }
            Operation::Test { path, value } => self.test(path, value),
            Operation::Copy { .. } | Operation::Move { .. } => Ok(()),
        }
    }

    fn test(&mut self, path: &Pointer, expected: &Value) -> Result<(), SpliceError> {
        let found = match self.untouched(path) {
            Some(node) => Found {
                value: reading::json(self.tree, node)?,
                source: Some(Source { node, key: None }),
            },
            None => reading::find(self.tree, path)?.ok_or(NOWHERE)?,
        };
        if equal(&found.value, expected) {
            return Ok(());
        }
        let start = found
            .source
            .map_or(0, |source| self.tree.outer_start(source.node));
        let [found, expected] = [&found.value, expected].map(|value| shortened(&value.to_string()));
        let detail = format!("{} is {found}, not {expected}", named(path));
        Err(ErrorKind::TestFailed.at(start).saying(detail))
    }

    /// The collection that a path leads to, to be changed.
    fn opened(&mut self, path: &Pointer) -> Result<&mut Overlay, SpliceError> {
        let (tree, policy, known) = (self.tree, self.manner.anchors(), self.holder);
        let followed = match policy {
            AnchorPolicy::Follow => reading::followed(tree, path),
            AnchorPolicy::Refuse => None,
        };
        let mut at = &mut self.root;
        self.way.clear();
        for token in followed.as_deref().unwrap_or(path).tokens() {
            at.open(tree, policy)?;
            if self.manner != Manner::Together {
                self.way.extend(at.node());
            }
            at = at.child(tree, &token, known)?.ok_or(NOWHERE)?;
        }
        // An operation before may have taken it away.
        if known.is_some() && at.node() != known {
            return Err(NOWHERE);
        }
        at.open(tree, policy)?;
        Ok(at)
    }

    /// Adds a member beside another one, or after all others.
    fn add(
        &mut self,
        path: &Pointer,
        new: Overlay,
        beside: Option<&str>,
    ) -> Result<(), SpliceError> {
        let (tree, manner, is_behind) = (self.tree, self.manner, self.around.is_behind);
        let comments = std::mem::take(&mut self.around.comments);
        let Some((parent, last)) = path.split_back() else {
            return self.replace(path, new);
        };
        let node = match self.opened(parent)? {
            Overlay::Map { node, members } => {
                let name = last.decoded();
                let place = match beside {
                    Some(name) => members.position(tree, *node, name)?,
                    None => None,
                }
                .map(|at| at + usize::from(is_behind));
                let may_hide = manner != Manner::Together;
                if let Some(member) = members.replaced(tree, *node, &name, may_hide)? {
                    return put(tree, manner, &mut member.value, new);
                }
                members.insert(place, name.into_owned(), new);
                *node
            }
            Overlay::Seq { node, items } => {
                let at = new_index(&last, items.len()).ok_or(NOWHERE)?;
                items.insert(at, new);
                *node
            }
            _ => return Err(NOWHERE),
        };
        if tree.style(node) == Style::Block {
            self.around.comments = comments;
        }
        Ok(())
    }

    fn replace(&mut self, path: &Pointer, new: Overlay) -> Result<(), SpliceError> {
        let (tree, manner) = (self.tree, self.manner);
        if let Some((parent, last)) = path.split_back() {
            let at = self.opened(parent)?.child(tree, &last, None)?;
            return put(tree, manner, at.ok_or(NOWHERE)?, new);
        }
        if !is_there(tree, manner, &self.root, &new) {
            self.root = new;
        }
        Ok(())
    }

    /// Removes a member or an item.
    fn remove(&mut self, path: &Pointer) -> Result<(), SpliceError> {
        let (tree, manner) = (self.tree, self.manner);
        let (parent, last) = path.split_back().ok_or(NOWHERE)?;
        let value = match self.opened(parent)? {
            Overlay::Map { node, members } => {
                let PatchedMember { key, value } = members
                    .remove(tree, *node, &last.decoded())?
                    .ok_or(NOWHERE)?;
                manner.may_go(tree, key.old())?;
                value
            }
            Overlay::Seq { items, .. } => element(&last, items.len())
                .and_then(|at| items.remove(at))
                .ok_or(NOWHERE)?,
            _ => return Err(NOWHERE),
        };
        manner.may_go(tree, value.node())
    }
}

/// The error of a path that leads nowhere, of which [`reading::nowhere`] says more.
const NOWHERE: SpliceError = ErrorKind::InvalidPointer.at(0);

/// The index at which an item is added.
fn new_index(token: &Token<'_>, len: usize) -> Option<usize> {
    token.to_index().ok()?.for_len_incl(len).ok()
}

/// True if a value is there already, so that its text can stay. The injector always writes its own.
fn is_there(tree: &Tree<'_>, manner: Manner, at: &Overlay, new: &Overlay) -> bool {
    match (at, new) {
        (Overlay::Old(node), Overlay::New(value)) if manner != Manner::Together => {
            to_json(tree, *node).is_ok_and(|found| found == **value) && is_certain(tree, *node)
        }
        _ => false,
    }
}

/// True if all programs read a value alike: it has no tag of one of them, and no word such as `on` or `22:22` that needs quotes.
fn is_certain(tree: &Tree<'_>, node: NodeId) -> bool {
    let node = tree.alias_target(node);
    let is_read_alike = match scalar_value(tree, node) {
        _ if tree.style(node) != Style::Plain => true,
        Ok(ScalarValue::Str(text)) => quote(&text, Context::Block) == text,
        Ok(ScalarValue::Bool(_)) => matches!(tree.raw(node), "true" | "false"),
        _ => true,
    };
    is_read_alike
        && own_tags(tree, node).next().is_none()
        && tree.children(node).all(|child| is_certain(tree, child))
}

/// Sets `new` in the place of what is there.
fn put(tree: &Tree<'_>, manner: Manner, at: &mut Overlay, new: Overlay) -> Result<(), SpliceError> {
    if is_there(tree, manner, at, &new) {
        return Ok(());
    }
    let old = at.node();
    match old.filter(|node| new.is_new_scalar() && tree.keeps_anchor(*node)) {
        Some(old) if manner.anchors() == AnchorPolicy::Follow || !tree.is_aliased(old) => {}
        Some(old) => return Err(ErrorKind::Anchor.at(tree.outer_start(old))),
        None => manner.may_go(tree, old)?,
    }
    *at = new;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::AnchorPolicy;
    use crate::splice::members::SCANS;
    use crate::splice::overlay::{Overlay, unchanged};
    use crate::{Patch, json_patch, read, to_json};
    use serde_json::{Value, json};

    #[test]
    fn the_index_says_what_looking_at_each_member_says() {
        for text in [
            "a: 1\nb: 2\n\"c\": 3\non: 4\n1: 5\n",
            "a: 1\nb: 2\na: 3\na: 4\n",
            "a: 1\na: 2\n~: 3\nb: 4\n",
            "a: 1\n~: 3\na: 2\nb: 4\n",
            "x: &x {c: 1}\na: 1\n<<: *x\nb: 2\n",
            "a: 1\n\"a\": 2\nyes: 3\n\"true\": 4\n",
        ] {
            let tree = read(text).unwrap();
            for name in ["a", "b", "c", "d", "on", "true", "1", "<<", "null"] {
                let mut root = unchanged(&tree);
                root.open(&tree, AnchorPolicy::Refuse).unwrap();
                let Overlay::Map { node, members } = root else {
                    panic!("{text}")
                };
                members.scanned(0);
                let scanned = members.position(&tree, node, name);
                members.scanned(SCANS);
                assert_eq!(
                    members.position(&tree, node, name),
                    scanned,
                    "{text} {name}"
                );
            }
        }
    }

    const PIECE: usize = 100;

    /// A patch of many hundred operations, compared with what RFC 6902 says.
    #[test]
    fn many_items_and_members_come_and_go() {
        let (mut random, mut len) = (7_usize, 2 * PIECE);
        let text: String = (0..len).map(|at| format!("- a{at}: {at}\n")).collect();
        let mut operations = Vec::new();
        for step in 0..6 * PIECE {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) % len;
            match step / PIECE {
                0 | 4 => {
                    operations.push(json!({"op": "add", "path": format!("/{at}"), "value": step}));
                    len += 1;
                }
                1 | 5 => {
                    operations.push(json!({"op": "remove", "path": format!("/{at}")}));
                    len -= 1;
                }
                2 => operations.push(json!({"op": "move", "from": format!("/{at}"), "path": "/0"})),
                _ => operations.push(
                    json!({"op": "copy", "from": format!("/{at}"), "path": format!("/{at}")}),
                ),
            }
            len += usize::from(step / PIECE == 3);
        }
        let keys: String = (0..PIECE).map(|at| format!("k{at}: {at}\n")).collect();
        let each = (0..PIECE).flat_map(|at| {
            let path = format!("/k{}", at * 7 % PIECE);
            let again = json!({"op": "add", "path": path, "value": "again"});
            [
                json!({"op": "test", "path": path, "value": at * 7 % PIECE}),
                json!({"op": "remove", "path": path}),
                again,
            ]
        });
        for (text, operations) in [(text, operations), (keys, each.collect())] {
            let patch: Patch = serde_json::from_value(Value::Array(operations)).unwrap();
            let value = |text: &str| to_json(&read(text).unwrap(), crate::NodeId(0)).unwrap();
            let mut expected = value(&text);
            json_patch::patch(&mut expected, &patch).unwrap();
            assert_eq!(value(&crate::apply(&text, &patch).unwrap()), expected);
        }
    }
}
