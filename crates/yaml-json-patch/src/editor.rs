//! [`Editor`]: one document, some values and comments.

use crate::edit::Edit;
use crate::patch::{Edited, Error};
use crate::quote::needs_escape;
use crate::read::read;
use crate::splice::{self, AnchorPolicy, CommentPlace, ErrorKind, Manner, Operation, SpliceError};
use crate::tree::Tree;
use json_patch::jsonptr::{Pointer, PointerBuf};
use serde_json::{Value, json};
use std::sync::Arc;

/// The path of a value: a JSON Pointer (`"/metadata/name"`), or keys and indices (`["metadata", "name"]`).
pub trait Path {
    /// Returns the path as a JSON Pointer.
    ///
    /// # Errors
    /// The text, if it is no JSON Pointer.
    fn pointer(&self) -> Result<PointerBuf, String>;
}

impl Path for &str {
    fn pointer(&self) -> Result<PointerBuf, String> {
        PointerBuf::parse(*self).map_err(|_| (*self).to_owned())
    }
}

impl Path for &[&str] {
    fn pointer(&self) -> Result<PointerBuf, String> {
        Ok(PointerBuf::from_tokens(self.iter().copied()))
    }
}

impl<const N: usize> Path for [&str; N] {
    fn pointer(&self) -> Result<PointerBuf, String> {
        self.as_slice().pointer()
    }
}

/// Changes values and comments of the text of one document, by their paths.
///
/// Each change is checked as [`apply()`](crate::apply()) checks it. One that cannot be made is an error and changes nothing; the
/// editor can be used further.
///
/// ```
/// use yaml_json_patch::{CommentPlace, Editor};
///
/// let text = "\
/// backup:
///   at: '03:00'
///   keep: 7 days   # as the contract says
///   hosts: [db1, db2]
/// ";
/// let mut editor = Editor::new(text)?;
/// editor
///     .set("/backup/at", "04:30")?
///     .set(["backup", "retry", "count"], 3)?
///     .insert("/backup/hosts/0", "db0")?
///     .set_comment("/backup/hosts", CommentPlace::LineEnd, "in this order")?;
/// assert!(editor.remove("/backup/keep")?);
/// assert!(!editor.remove("/backup/once")?);
/// assert_eq!(editor.finish()?, "\
/// backup:
///   at: '04:30'
///   hosts: [db0, db1, db2] # in this order
///   retry:
///     count: 3
/// ");
/// # Ok::<(), yaml_json_patch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Editor {
    original: String,
    edited: Edited,
    anchors: AnchorPolicy,
}

impl Editor {
    /// Reads the document.
    ///
    /// # Errors
    /// [`Error::Yaml`] when the text is not valid YAML, or holds more than one document.
    pub fn new(text: &str) -> Result<Self, Error> {
        read(text)?;
        Ok(Self {
            original: text.to_owned(),
            edited: Edited::original(text),
            anchors: AnchorPolicy::default(),
        })
    }

    /// Says what to do with values that have an anchor, and aliases; at first, changing them is an error.
    ///
    /// ```
    /// use yaml_json_patch::{AnchorPolicy, Editor};
    ///
    /// let mut editor = Editor::new("web: &tag 1.2.3\nworker: *tag\n")?;
    /// assert!(editor.set("/web", "1.2.4").is_err());
    /// editor.anchors(AnchorPolicy::Follow).set("/web", "1.2.4")?;
    /// assert_eq!(editor.finish()?, "web: &tag 1.2.4\nworker: *tag\n");
    /// # Ok::<(), yaml_json_patch::Error>(())
    /// ```
    pub fn anchors(&mut self, policy: AnchorPolicy) -> &mut Self {
        self.anchors = policy;
        self
    }

    /// Returns the value at a path; none if there is none.
    ///
    /// ```
    /// let editor = yaml_json_patch::Editor::new("mode: 0644\n")?;
    /// assert_eq!(editor.get("/mode")?, Some(420.into()));
    /// assert_eq!(editor.get("/owner")?, None);
    /// # Ok::<(), yaml_json_patch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Splice`] when the value is none that JSON has.
    pub fn get(&self, path: impl Path) -> Result<Option<Value>, Error> {
        let path = self.pointer(&path)?;
        splice::value_at(&read(&self.edited.text)?, &path)
            .map_err(|error| self.edited.in_original(error))
    }

    /// Replaces the value at a path, or adds it to the mapping or list that ends the path. `-` adds an item at the end of a list.
    /// Mappings that are missing on the way are added, also in place of a null, or in a file of comments. A value that is there
    /// already keeps its text.
    ///
    /// # Errors
    /// [`Error::Splice`] when something else is on the way, a list is missing, or the text cannot be edited safely.
    pub fn set(&mut self, path: impl Path, value: impl Into<Value>) -> Result<&mut Self, Error> {
        let mut path = self.pointer(&path)?;
        let mut value: Value = value.into();
        let replace = Operation::Replace {
            path: path.clone(),
            value: Arc::new(value.clone()),
        };
        if self.carry_out_if_there(replace)? {
            return Ok(self);
        }
        while let Some((parent, key)) = path.split_back() {
            if !matches!(self.get(parent.as_str())?, None | Some(Value::Null)) {
                break;
            }
            let key = key.decoded().into_owned();
            if key == "-" || key.parse::<usize>().is_ok() {
                return Err(self.nowhere(&path));
            }
            value = json!({ key: value });
            path = parent.to_buf();
        }
        let value = Arc::new(value);
        self.carry_out(Operation::Add { path, value })
    }

    /// Inserts an item of a list at its index, or adds a member.
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no such list or mapping, or it cannot be edited safely.
    pub fn insert(&mut self, path: impl Path, value: impl Into<Value>) -> Result<&mut Self, Error> {
        let path = self.pointer(&path)?;
        let value = Arc::new(value.into());
        self.carry_out(Operation::Add { path, value })
    }

    /// Adds a member in front of the one that has the name `next`, and of the comments right above that.
    ///
    /// ```
    /// let mut editor = yaml_json_patch::Editor::new("kind: Pod\n# Many.\nspec: {}\n")?;
    /// editor.insert_before("/metadata", "spec", serde_json::json!({"name": "web"}))?;
    /// editor.insert_after("/apiVersion", "kind", "v1")?;
    /// assert_eq!(
    ///     editor.finish()?,
    ///     "kind: Pod\napiVersion: v1\nmetadata:\n  name: web\n# Many.\nspec: {}\n"
    /// );
    /// # Ok::<(), yaml_json_patch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no member `next`, or one of the new name is there already.
    pub fn insert_before(
        &mut self,
        path: impl Path,
        next: &str,
        value: impl Into<Value>,
    ) -> Result<&mut Self, Error> {
        let path = self.beside(&path, next)?;
        self.expect_absent(&path)?;
        self.carry_out(Operation::InsertBefore {
            path,
            value: Arc::new(value.into()),
            before: next.to_owned(),
        })
    }

    /// Adds a member behind the one that has the name `previous`.
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no member `previous`, or one of the new name is there already. Also where the text ends in a
    /// block scalar without a line break, which nothing can follow.
    pub fn insert_after(
        &mut self,
        path: impl Path,
        previous: &str,
        value: impl Into<Value>,
    ) -> Result<&mut Self, Error> {
        let path = self.beside(&path, previous)?;
        let tree = read(&self.edited.text)?;
        let next = splice::next_name(&tree, &with_last(&path, previous))
            .map_err(|error| self.edited.in_original(error))?;
        match next {
            Some(next) => self.insert_before(path.as_str(), &next, value),
            None if splice::ends_in_open_block_scalar(&tree) => {
                let error = ErrorKind::OpenBlockScalar.at(self.edited.text.len());
                Err(self.edited.in_original(error))
            }
            None => {
                self.expect_absent(&path)?;
                self.insert(path.as_str(), value)
            }
        }
    }

    /// Gives a member another name, in its place.
    ///
    /// ```
    /// let mut editor = yaml_json_patch::Editor::new("name: a # n\nruns: b\n")?;
    /// assert_eq!(editor.rename("/name", "title")?.finish()?, "title: a # n\nruns: b\n");
    /// # Ok::<(), yaml_json_patch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no such member, or one of the new name is there already.
    pub fn rename(&mut self, path: impl Path, name: &str) -> Result<&mut Self, Error> {
        let from = self.element(&path)?;
        let path = with_last(&from, name);
        if path != from {
            self.expect_absent(&path)?;
        }
        self.carry_out(Operation::Move { from, path })
    }

    /// Removes the value at a path. Returns false if there is none.
    ///
    /// # Errors
    /// [`Error::Splice`] when the value cannot be removed safely.
    pub fn remove(&mut self, path: impl Path) -> Result<bool, Error> {
        let path = self.element(&path)?;
        self.carry_out_if_there(Operation::Remove { path })
    }

    /// Returns the comment of a member or an item, each line without its `#`.
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no such value, other values share its lines, or the document is JSON.
    pub fn comment(&self, path: impl Path, place: CommentPlace) -> Result<Option<String>, Error> {
        let path = self.pointer(&path)?;
        let tree = read(&self.edited.text)?;
        let comment = self.at_comment(&tree, &path, place)?.text(&tree);
        Ok(Some(comment).filter(|comment| !comment.is_empty()))
    }

    /// Writes the comment of a member or an item, instead of the one that it may have. An empty text removes it. At the end of a line,
    /// several lines become one.
    ///
    /// ```
    /// use yaml_json_patch::{CommentPlace, Editor};
    ///
    /// let mut editor = Editor::new("a:\n  b: 1\n")?;
    /// editor
    ///     .set_comment("/a/b", CommentPlace::Above, "one,\nand only")?
    ///     .set_comment("/a", CommentPlace::LineEnd, "of all")?;
    /// assert_eq!(editor.finish()?, "a: # of all\n  # one,\n  # and only\n  b: 1\n");
    /// assert_eq!(editor.comment("/a/b", CommentPlace::Above)?.as_deref(), Some("one,\nand only"));
    /// # Ok::<(), yaml_json_patch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no such value, other values share its lines, the document is JSON, or the text has a control
    /// character.
    pub fn set_comment(
        &mut self,
        path: impl Path,
        place: CommentPlace,
        text: &str,
    ) -> Result<&mut Self, Error> {
        let path = self.pointer(&path)?;
        // YAML does not have it, or not all readers take it for a part of the line.
        let is_unfit = |character: &char| *character != '\t' && needs_escape(*character);
        if let Some(unfit) = text.lines().flat_map(str::chars).find(is_unfit) {
            let detail = format!("a comment cannot have the character {unfit:?}");
            return Err(ErrorKind::Layout.at(0).saying(detail).into());
        }
        let tree = read(&self.edited.text)?;
        let edit = self.at_comment(&tree, &path, place)?.edit(&tree, text);
        self.edited = self.edited.commented(&self.original, edit)?;
        Ok(self)
    }

    /// Returns the edits of the text that was read.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.edited.edits
    }

    /// Returns the edited text.
    ///
    /// # Errors
    /// None so far.
    pub fn finish(&self) -> Result<String, Error> {
        Ok(self.text().to_owned())
    }

    /// The text as it is now.
    pub(crate) fn text(&self) -> &str {
        &self.edited.text
    }

    fn carry_out(&mut self, operation: Operation) -> Result<&mut Self, Error> {
        self.edited = self
            .edited
            .patched(&self.original, &[operation], Manner::Edited(self.anchors))
            .map_err(without_operation)?;
        Ok(self)
    }

    fn carry_out_if_there(&mut self, operation: Operation) -> Result<bool, Error> {
        match self.carry_out(operation) {
            Ok(_) => Ok(true),
            Err(Error::Splice(error)) if error.kind == ErrorKind::InvalidPointer => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn at_comment(
        &self,
        tree: &Tree<'_>,
        path: &Pointer,
        place: CommentPlace,
    ) -> Result<splice::Comment, Error> {
        splice::comment_at(tree, path, place)
            .map_err(|error| self.edited.in_original(error))?
            .ok_or_else(|| self.nowhere(path))
    }

    fn pointer(&self, path: &impl Path) -> Result<PointerBuf, SpliceError> {
        path.pointer().map_err(|path| {
            let detail = format!("`{path}` is no JSON Pointer, which begins with `/`");
            ErrorKind::InvalidPointer.at(0).saying(detail)
        })
    }

    /// The path of a member or an item, not of the document.
    fn element(&self, path: &impl Path) -> Result<PointerBuf, Error> {
        let path = self.pointer(path)?;
        if path.is_root() {
            Err(self.nowhere(&path))
        } else {
            Ok(path)
        }
    }

    /// The path of a member that is to be beside another one.
    fn beside(&self, path: &impl Path, other: &str) -> Result<PointerBuf, Error> {
        let path = self.element(path)?;
        let parent = path.parent().unwrap_or(Pointer::root());
        if let Some(Value::Array(_)) = self.get(parent.as_str())? {
            let detail = "only a member has a place before or after another one; `insert` puts an item at an index";
            return Err(ErrorKind::InvalidPointer
                .at(0)
                .saying(detail.to_owned())
                .into());
        }
        let other = with_last(&path, other);
        if self.get(other.as_str())?.is_none() {
            return Err(self.nowhere(&other));
        }
        Ok(path)
    }

    fn expect_absent(&self, path: &Pointer) -> Result<(), Error> {
        match self.get(path.as_str())? {
            None => Ok(()),
            Some(_) => Err(ErrorKind::DuplicateKey
                .at(0)
                .saying(format!("`{path}` is there already"))
                .into()),
        }
    }

    fn nowhere(&self, path: &Pointer) -> Error {
        match read(&self.edited.text) {
            Ok(tree) => self.edited.in_original(splice::nowhere(&tree, path)),
            Err(error) => error.into(),
        }
    }
}

/// An editor has no operations that its user could count.
fn without_operation(error: Error) -> Error {
    match error {
        Error::Splice(error) => Error::Splice(SpliceError {
            operation: None,
            ..error
        }),
        other => other,
    }
}

/// A path with another last token.
fn with_last(path: &Pointer, name: &str) -> PointerBuf {
    let mut path = path.to_buf();
    path.pop_back();
    path.push_back(name);
    path
}
