//! A patch, applied and checked: [`apply()`], [`edits`], and their parts with [`splice()`].

use crate::edit::{self, Edit};
use crate::read::read;
use crate::splice::overlay;
use crate::splice::{
    self, AnchorPolicy, Cache, Carrying, ErrorKind, Manner, Operation, Operations, Patched,
    SpliceError, Spliced, operations,
};
use crate::tag::own_tags;
use crate::tree::{NodeId, Nodes, Tree, YamlError};
use crate::verify::{Mismatch, verify};
use json_patch::Patch;
use std::borrow::Cow;

/// A reason why a text was not patched, with the place ([`Error::offset`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no YAML document.
    #[error("not valid YAML: {0}")]
    Yaml(#[from] YamlError),
    /// The text cannot be edited safely, or the patch does not fit it;
    /// [`ErrorKind::is_fault_of_patch`](crate::ErrorKind::is_fault_of_patch) tells the two apart.
    #[error("{}", .0.with_operation())]
    Splice(#[from] SpliceError),
    /// The edited text is not what it should be; nothing of it may be used.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
}

impl Error {
    /// Returns the byte offset of the place: into the text that was given, but for [`Error::Mismatch`] into the edited one.
    #[must_use]
    pub fn offset(&self) -> usize {
        match self {
            Error::Yaml(error) => error.offset,
            Error::Splice(error) => error.offset,
            Error::Mismatch(error) => error.offset,
        }
    }

    /// An error of a text that begins at an offset of another one.
    pub(crate) fn further_by(mut self, start: usize) -> Self {
        let (Error::Yaml(YamlError { offset, .. })
        | Error::Splice(SpliceError { offset, .. })
        | Error::Mismatch(Mismatch { offset, .. })) = &mut self;
        *offset += start;
        self
    }

    /// Advises what to do next.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Error::Yaml(error) if error.message.contains("second document") => {
                "cut the text with `documents`, or edit it with `Stream`"
            }
            Error::Yaml(_) => "correct the document",
            Error::Splice(error) => match error.kind {
                ErrorKind::Alias => {
                    "replace the alias `*name` with its value, or use `AnchorPolicy::Follow`"
                }
                ErrorKind::Anchor if error.detail.is_none() => {
                    "replace the aliases with the value, or use `AnchorPolicy::Follow`"
                }
                kind => kind.help(),
            },
            Error::Mismatch(_) => {
                "this is a bug in yaml-json-patch; please report it with the document and the patch"
            }
        }
    }
}

/// Applies a patch to the text of one document.
///
/// All operations are carried out, or none. They follow each other: the text is the one that they give one by one. It is read
/// again and compared with what RFC 6902 says.
///
/// Operations that follow each other share one reading where none needs what another one leaves: scalars on one line that are
/// replaced, `test`, new last members or items of one form, and a removal in each collection. Each other operation takes
/// time for the whole text: moves, copies, several removals in one collection, insertions in front, values over several lines.
///
/// A path names keys as YAML 1.1 reads them, and else as they are written: both `/true` and `/on` name the member `on: push`.
/// RFC 6902 knows only the first of them, so that its `add` at `/on` would add a member; here it replaces the value.
///
/// ```
/// use yaml_json_patch::{Error, ErrorKind, Patch, apply};
///
/// let patch: Patch = serde_json::from_str(r#"[{"op": "add", "path": "/hosts/-", "value": "db3"}]"#)?;
/// assert_eq!(apply("hosts: [db1, db2] # both\n", &patch)?, "hosts: [db1, db2, db3] # both\n");
///
/// let shared = "standby: &all [db1]\nhosts: *all\n";
/// let error = apply(shared, &patch).unwrap_err();
/// assert!(matches!(&error, Error::Splice(error) if error.kind == ErrorKind::Alias));
/// assert_eq!(
///     error.help(),
///     "replace the alias `*name` with its value, or use `AnchorPolicy::Follow`"
/// );
/// assert_eq!(&shared[error.offset()..], "*all\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - the text is not valid YAML, or holds more than one document: [`Error::Yaml`]
/// - an operation names a place that the document does not have, a `test` finds another value, or a `move` goes into itself:
///   [`Error::Splice`]
/// - the text cannot be edited safely; the [`ErrorKind`] says why and what to do: [`Error::Splice`]
/// - the result is not what it should be, which is a defect of this crate: [`Error::Mismatch`]
pub fn apply(text: &str, patch: &Patch) -> Result<String, Error> {
    apply_with(text, patch, AnchorPolicy::Refuse)
}

/// Applies a patch as [`apply()`] does, and says what to do with values that have an anchor, and aliases.
///
/// ```
/// use yaml_json_patch::{AnchorPolicy, Patch, apply_with};
///
/// let shared = "standby: &all [db1]\nhosts: *all\n";
/// let patch: Patch = serde_json::from_str(r#"[{"op": "add", "path": "/hosts/-", "value": "db3"}]"#)?;
/// assert_eq!(
///     apply_with(shared, &patch, AnchorPolicy::Follow)?,
///     "standby: &all [db1, db3]\nhosts: *all\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`apply()`].
pub fn apply_with(text: &str, patch: &Patch, anchors: AnchorPolicy) -> Result<String, Error> {
    Ok(patched(text, patch, anchors)?.text)
}

/// Returns the edits that [`apply()`] makes: for editors, diffs, and texts that are part of a larger one. They are sorted and do
/// not overlap; offsets are bytes of `text`.
///
/// ```
/// use yaml_json_patch::{Patch, edits};
///
/// let mut text = String::from("keep: 7 days # as the contract says\n");
/// let patch: Patch = serde_json::from_str(r#"[{"op": "replace", "path": "/keep", "value": "14 days"}]"#)?;
/// for edit in edits(&text, &patch)?.iter().rev() {
///     text.replace_range(edit.range.clone(), &edit.text);
/// }
/// assert_eq!(text, "keep: 14 days # as the contract says\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`apply()`].
pub fn edits(text: &str, patch: &Patch) -> Result<Vec<Edit>, Error> {
    Ok(patched(text, patch, AnchorPolicy::Refuse)?.edits)
}

fn patched(text: &str, patch: &Patch, anchors: AnchorPolicy) -> Result<Edited, Error> {
    Edited::read(text)?.patched(text, &operations(patch), Manner::OneByOne(anchors))
}

/// The text of one document while it is edited.
#[derive(Debug, Clone)]
pub(crate) struct Edited {
    pub(crate) text: String,
    /// The edits that lead here from the original.
    pub(crate) edits: Vec<Edit>,
    /// The number of operations so far.
    operations: usize,
    nodes: Option<Nodes>,
}

impl Edited {
    /// Reads the original.
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        Ok(Self {
            text: text.to_owned(),
            edits: Vec::new(),
            operations: 0,
            nodes: read(text)?.into_nodes(),
        })
    }

    /// The text as it was read when it was compared.
    pub(crate) fn tree(&self) -> Result<Tree<'_>, Error> {
        match &self.nodes {
            Some(nodes) => Ok(Tree::of_nodes(&self.text, nodes.clone())),
            None => Ok(read(&self.text)?),
        }
    }

    /// The text with further edits.
    fn edited(&self, original: &str, checked: Checked, operations: usize) -> Self {
        Self {
            edits: edit::compose(original, &self.edits, &checked.edits),
            text: checked.text,
            operations: self.operations + operations,
            nodes: checked.nodes,
        }
    }

    /// Carries out operations, one after the other: each finds the text that those before it have left.
    pub(crate) fn patched(
        &self,
        original: &str,
        operations: &[Operation],
        manner: Manner,
    ) -> Result<Self, Error> {
        let mut edited = Cow::Borrowed(self);
        let (mut rest, mut most) = (operations, usize::MAX);
        loop {
            let step = Operations {
                list: &rest[..rest.len().min(most)],
                first: edited.operations,
                manner,
                holders: &[],
            };
            match checked(&edited.tree()?, step) {
                // One of them is at fault: they are carried out again, fewer at a time.
                Err(_) if step.list.len() > 1 => most = 1,
                Err(error) => return Err(edited.in_original(error)),
                Ok((count, checked)) => {
                    match checked {
                        Some(checked) => {
                            edited = Cow::Owned(edited.edited(original, checked, count))
                        }
                        None => edited.to_mut().operations += count,
                    }
                    (rest, most) = (&rest[count..], most.saturating_mul(2));
                    if rest.is_empty() {
                        return Ok(edited.into_owned());
                    }
                }
            }
        }
    }

    /// Makes an edit that changes no value.
    pub(crate) fn commented(&self, original: &str, comment: Edit) -> Result<Self, Error> {
        let tree = self.tree()?;
        let spliced = Spliced {
            edits: vec![comment],
            overlay: overlay::unchanged(&tree),
        };
        Ok(self.edited(original, verified(&tree, spliced, &Cache::default())?, 0))
    }

    /// An error with its offset in the original.
    pub(crate) fn in_original(&self, error: impl Into<Error>) -> Error {
        match error.into() {
            Error::Splice(mut error) => {
                error.offset = edit::origins(&self.edits, &[error.offset])
                    .pop()
                    .unwrap_or_default();
                error.into()
            }
            other => other,
        }
    }
}

/// Turns operations, carried out in their order, into edits. The cache shares work between documents.
///
/// The operations add, remove and replace, each at a place of its own. The edits are not verified yet: see [`verify()`].
///
/// ```
/// use std::sync::Arc;
/// use yaml_json_patch::json_patch::jsonptr::PointerBuf;
/// use yaml_json_patch::{Cache, Operation, edit, read, splice, verify};
///
/// let cache = Cache::default();
/// let value = Arc::new(serde_json::json!({"name": "db3"}));
/// for (text, expected) in [
///     ("hosts:\n- name: db1\n", "hosts:\n- name: db1\n- name: db3\n"),
///     ("hosts: [] # none yet\n", "hosts: # none yet\n  - name: db3\n"),
/// ] {
///     let tree = read(text)?;
///     let add = Operation::Add { path: PointerBuf::parse("/hosts/-")?, value: Arc::clone(&value) };
///     let spliced = splice(&tree, vec![add], &cache)?;
///     let edited = edit::apply(text, &spliced.edits);
///     let new = cache.read_edited(&tree, &spliced.edits, &edited)?;
///     verify(&tree, &spliced, &new, &cache)?;
///     assert_eq!(edited, expected);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When an operation does not fit the document, or the text cannot be edited safely; see [`ErrorKind`].
pub fn splice(
    tree: &Tree<'_>,
    operations: Vec<Operation>,
    cache: &Cache,
) -> Result<Spliced, SpliceError> {
    let patched = splice::patched(tree, Operations::together(&operations))?;
    splice::write(tree, patched, Carrying::Values, cache)
}

/// Turns operations into edits as [`splice()`] does. The collections that the first ones change, where they are known, are not
/// looked up again.
///
/// # Errors
/// As [`splice()`].
pub fn splice_in(
    tree: &Tree<'_>,
    operations: Vec<Operation>,
    holders: &[Option<NodeId>],
    cache: &Cache,
) -> Result<Spliced, SpliceError> {
    let located = Operations {
        holders,
        ..Operations::together(&operations)
    };
    let patched = splice::patched(tree, located)?;
    let spliced = splice::write(tree, patched, Carrying::Values, cache);
    debug_assert_eq!(
        spliced.as_ref().map(|spliced| &spliced.edits),
        splice(tree, operations, cache)
            .as_ref()
            .map(|spliced| &spliced.edits),
        "a path leads elsewhere"
    );
    spliced
}

/// Edits that operations were turned into, and the edited text, which was read again.
struct Checked {
    edits: Vec<Edit>,
    text: String,
    nodes: Option<Nodes>,
}

/// Carries out as many of the operations as one reading is enough for, and gives their number. Writes, reads and compares the
/// patched document; none if nothing changes.
fn checked(tree: &Tree<'_>, operations: Operations<'_>) -> Result<(usize, Option<Checked>), Error> {
    let patched = splice::patched(tree, operations)?;
    let count = patched.count;
    if patched.overlay == overlay::unchanged(tree) {
        return Ok((count, None));
    }
    match (compared(tree, patched, &Cache::default()), operations.list) {
        (Err(Error::Splice(error)), [operation]) => Err(error
            .of_operation(operations.first, "path", operation.path())
            .into()),
        (checked, _) => checked.map(|checked| (count, Some(checked))),
    }
}

/// Writes the patched document in the way that people would, if it then reads as it should: comments, block scalars and white space
/// may read otherwise beside the lines around them. Else values go without their text, and in quotes. A value with tags cannot
/// go without its text, since that alone has them.
fn compared(tree: &Tree<'_>, patched: Patched, cache: &Cache) -> Result<Checked, Error> {
    if let Ok(checked) = written(tree, patched.clone(), Carrying::Text, cache) {
        return Ok(checked);
    }
    let carried = patched.overlay.carried();
    let not_carried = |node| Error::from(ErrorKind::Tag.at(tree.outer_start(node)).in_source(tree));
    let mut nodes = carried.iter().map(|source| source.node);
    if let Some(node) = nodes.find(|node| own_tags(tree, *node).next().is_some()) {
        return Err(not_carried(node));
    }
    let result = match written(tree, patched.clone(), Carrying::Values, cache) {
        Err(Error::Mismatch(_)) => written(tree, patched, Carrying::QuotedValues, cache),
        result => result,
    };
    match (result, carried.first()) {
        (Err(Error::Mismatch(_)), Some(source)) => Err(not_carried(source.node)),
        (result, _) => result,
    }
}

fn written(
    tree: &Tree<'_>,
    patched: Patched,
    carrying: Carrying,
    cache: &Cache,
) -> Result<Checked, Error> {
    verified(tree, splice::write(tree, patched, carrying, cache)?, cache)
}

fn verified(tree: &Tree<'_>, spliced: Spliced, cache: &Cache) -> Result<Checked, Error> {
    let text = edit::apply(tree.text(), &spliced.edits);
    let new = cache
        .read_edited(tree, &spliced.edits, &text)
        .map_err(|error| Mismatch {
            offset: error.offset,
        })?;
    verify(tree, &spliced, &new, cache)?;
    Ok(Checked {
        edits: spliced.edits,
        nodes: new.into_nodes(),
        text,
    })
}
