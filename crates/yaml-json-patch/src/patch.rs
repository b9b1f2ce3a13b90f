//! A patch, applied and checked: [`apply()`], [`edits`], [`Editor`], and their parts with [`splice()`].

use crate::edit::{self, Edit};
use crate::read::read;
use crate::splice::apply;
use crate::splice::overlay::{self, Overlay};
use crate::splice::{
    self, Cache, Carrying, ErrorKind, Operation, SpliceError, Spliced, operations,
};
use crate::tree::{Tree, YamlError};
use crate::verify::{Mismatch, verify};
use json_patch::Patch;
use json_patch::jsonptr::PointerBuf;
use serde_json::Value;
use std::sync::Arc;

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

    /// Advises what to do next.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Error::Yaml(_) => "correct the document",
            Error::Splice(error) => error.kind.help(),
            Error::Mismatch(_) => {
                "this is a bug in yaml-json-patch; please report it with the document and the patch"
            }
        }
    }
}

/// Applies a patch to the text of one document.
///
/// All operations are carried out, in their order, or none. The result is read again and compared with what RFC 6902 says.
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
/// assert_eq!(error.help(), "replace the alias `*name` with its value");
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
    Ok(patched(text, patch)?.text)
}

/// Returns the edits that [`apply()`] makes: for editors, diffs, and texts that are part of a larger one. They are sorted and do
/// not overlap; offsets are bytes of `text`.
///
/// ```
/// use yaml_json_patch::{Patch, edit, edits};
///
/// let text = "keep: 7 days # as the contract says\n";
/// let patch: Patch = serde_json::from_str(r#"[{"op": "replace", "path": "/keep", "value": "14 days"}]"#)?;
/// let edits = edits(text, &patch)?;
/// assert_eq!((edits[0].range.clone(), &*edits[0].text), (6..12, "14 days"));
/// assert_eq!(edit::apply(text, &edits), "keep: 14 days # as the contract says\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`apply()`].
pub fn edits(text: &str, patch: &Patch) -> Result<Vec<Edit>, Error> {
    Ok(patched(text, patch)?.spliced.edits)
}

fn patched(text: &str, patch: &Patch) -> Result<Checked, Error> {
    let tree = read(text)?;
    let operations = operations(patch);
    let overlay = splice::patched(&tree, &operations)?;
    checked(&tree, overlay, &operations)
}

/// Sets and removes values of the text of one document, by their paths.
///
/// Nothing is edited before [`Editor::finish`], which edits and checks once.
///
/// ```
/// use yaml_json_patch::Editor;
///
/// let text = "\
/// backup:
///   at: '03:00'
///   keep: 7 days   # as the contract says
///   hosts: [db1, db2]
/// ";
/// let edited = Editor::new(text)?
///     .set("/backup/at", "04:30")?
///     .set("/backup/retries", 3)?
///     .set("/backup/hosts/1", "db9")?
///     .remove("/backup/keep")?
///     .finish()?;
/// assert_eq!(edited, "\
/// backup:
///   at: '04:30'
///   hosts: [db1, db9]
///   retries: 3
/// ");
/// # Ok::<(), yaml_json_patch::Error>(())
/// ```
#[derive(Debug)]
pub struct Editor<'t> {
    tree: Tree<'t>,
    overlay: Overlay,
    operations: Vec<Operation>,
}

impl<'t> Editor<'t> {
    /// Reads the document.
    ///
    /// # Errors
    /// [`Error::Yaml`] when the text is not valid YAML, or holds more than one document.
    pub fn new(text: &'t str) -> Result<Self, Error> {
        let tree = read(text)?;
        Ok(Self {
            overlay: overlay::unchanged(&tree),
            tree,
            operations: Vec::new(),
        })
    }

    /// Replaces the value at a JSON Pointer, or adds it to the mapping or list that ends the path. `-` adds an item at the end
    /// of a list. Creates no other mappings or lists.
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no such mapping or list, or it cannot be edited safely.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Result<Self, Error> {
        let path = self.pointer(path)?;
        let value = Arc::new(value.into());
        let replace = Operation::Replace {
            path: path.clone(),
            value: Arc::clone(&value),
        };
        match self.carry_out(replace) {
            Err(error) if error.kind == ErrorKind::InvalidPointer => {
                self.carry_out(Operation::Add { path, value })?;
            }
            replaced => replaced?,
        }
        Ok(self)
    }

    /// Removes the value at a JSON Pointer.
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no such value, or it cannot be removed safely.
    pub fn remove(mut self, path: &str) -> Result<Self, Error> {
        let path = self.pointer(path)?;
        self.carry_out(Operation::Remove { path })?;
        Ok(self)
    }

    /// Edits the text and reads the result again.
    ///
    /// # Errors
    /// As [`apply()`].
    pub fn finish(self) -> Result<String, Error> {
        Ok(checked(&self.tree, self.overlay, &self.operations)?.text)
    }

    fn carry_out(&mut self, operation: Operation) -> Result<(), SpliceError> {
        let index = self.operations.len();
        apply::apply_one(&self.tree, &mut self.overlay, index, &operation)?;
        self.operations.push(operation);
        Ok(())
    }

    fn pointer(&self, path: &str) -> Result<PointerBuf, SpliceError> {
        PointerBuf::parse(path).map_err(|_| {
            let path = PointerBuf::from_tokens([path]);
            let error = ErrorKind::InvalidPointer.at(0);
            error.of_operation(self.operations.len(), "path", &path)
        })
    }
}

/// Operations, turned into edits of a text, and the text that was read again.
struct Checked {
    spliced: Spliced,
    text: String,
}

/// Turns operations, carried out in their order, into edits. The cache shares work between documents.
///
/// The edits are not verified yet, except where the text of a moved or copied value goes with it: such text counts only if
/// [`verify()`] has accepted it.
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
    let overlay = splice::patched(tree, &operations)?;
    match with_carried_text(tree, &overlay, cache) {
        Some(checked) => Ok(checked.spliced),
        None => splice::write(tree, overlay, Carrying::Values, cache),
    }
}

/// Writes, reads and compares the patched document.
fn checked(tree: &Tree<'_>, overlay: Overlay, operations: &[Operation]) -> Result<Checked, Error> {
    let cache = Cache::default();
    if let Some(checked) = with_carried_text(tree, &overlay, &cache) {
        return Ok(checked);
    }
    match written(tree, overlay, Carrying::Values, &cache) {
        Err(Error::Splice(error)) => Err(with_operation(tree, operations, error).into()),
        result => result,
    }
}

/// Tries to take along the text of what is moved or copied. Comments and block scalars may read otherwise beside the lines
/// around them, so that the text counts only where it reads as the patched document.
fn with_carried_text(tree: &Tree<'_>, overlay: &Overlay, cache: &Cache) -> Option<Checked> {
    if !overlay.has_carried() {
        return None;
    }
    written(tree, overlay.clone(), Carrying::Text, cache).ok()
}

fn written(
    tree: &Tree<'_>,
    overlay: Overlay,
    carrying: Carrying,
    cache: &Cache,
) -> Result<Checked, Error> {
    let spliced = splice::write(tree, overlay, carrying, cache)?;
    let text = edit::apply(tree.text(), &spliced.edits);
    let new = cache
        .read_edited(tree, &spliced.edits, &text)
        .map_err(|error| Mismatch {
            offset: error.offset,
        })?;
    verify(tree, &spliced, &new, cache)?;
    Ok(Checked { spliced, text })
}

/// Finds an operation that cannot be written although those before it can, and returns its error.
///
/// The error of all operations together may be another one's, which comes first in the text.
fn with_operation(tree: &Tree<'_>, operations: &[Operation], error: SpliceError) -> SpliceError {
    let (mut fits, mut fails, mut error) = (0, operations.len(), error);
    while fails - fits > 1 {
        let middle = fits.midpoint(fails);
        match splice(tree, operations[..middle].to_vec(), &Cache::default()) {
            Ok(_) => fits = middle,
            Err(earlier) => (fails, error) = (middle, earlier),
        }
    }
    match operations.get(fits) {
        Some(operation) => error.of_operation(fits, "path", operation.path()),
        None => error,
    }
}
