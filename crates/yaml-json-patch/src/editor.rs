//! [`Editor`]: one document, some values and comments.

use crate::edit::Edit;
use crate::patch::{Edited, Error};
use crate::quote::needs_escape;
use crate::splice::key::name_of;
use crate::splice::{self, AnchorPolicy, CommentPlace, ErrorKind, Manner, Operation, SpliceError};
use crate::tree::{Kind, Tree};
use crate::value::{ScalarValue, scalar_value};
use json_patch::jsonptr::{Pointer, PointerBuf};
use serde_json::{Value, json};
use std::sync::Arc;

/// The path of a value: a text is a JSON Pointer (`"/metadata/name"`); a slice, an array or a `Vec` holds keys
/// (`["metadata", "name"]`) and indices (`["args", "0"]`).
///
/// ```
/// let editor = yaml_json_patch::Editor::new("jobs:\n  test/unit:\n    steps: [a, b]\n")?;
/// let job = String::from("test/unit");
/// assert_eq!(editor.get(["jobs", &job, "steps", "1"])?, Some("b".into()));
/// assert_eq!(editor.get(&format!("/jobs/{}/steps/1", job.replace('/', "~1")))?, Some("b".into()));
/// # Ok::<(), yaml_json_patch::Error>(())
/// ```
pub trait Path: sealed::Pointer {}

impl<P: sealed::Pointer + ?Sized> Path for P {}

mod sealed {
    use json_patch::jsonptr::PointerBuf;

    pub trait Pointer {
        /// The path as a JSON Pointer, or else the text, if it is none.
        fn pointer(&self) -> Result<PointerBuf, String>;
    }

    impl Pointer for str {
        fn pointer(&self) -> Result<PointerBuf, String> {
            PointerBuf::parse(self).map_err(|_| self.to_owned())
        }
    }

    impl Pointer for String {
        fn pointer(&self) -> Result<PointerBuf, String> {
            self.as_str().pointer()
        }
    }

    impl<S: AsRef<str>> Pointer for [S] {
        fn pointer(&self) -> Result<PointerBuf, String> {
            Ok(PointerBuf::from_tokens(self.iter().map(AsRef::as_ref)))
        }
    }

    impl<S: AsRef<str>, const N: usize> Pointer for [S; N] {
        fn pointer(&self) -> Result<PointerBuf, String> {
            self.as_slice().pointer()
        }
    }

    impl<S: AsRef<str>> Pointer for Vec<S> {
        fn pointer(&self) -> Result<PointerBuf, String> {
            self.as_slice().pointer()
        }
    }

    impl<P: Pointer + ?Sized> Pointer for &P {
        fn pointer(&self) -> Result<PointerBuf, String> {
            (**self).pointer()
        }
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
/// assert_eq!(editor.finish(), "\
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
        Ok(Self {
            original: text.to_owned(),
            edited: Edited::read(text)?,
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
    /// assert_eq!(editor.finish(), "web: &tag 1.2.4\nworker: *tag\n");
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
        splice::value_at(&self.edited.tree()?, &path)
            .map_err(|error| self.edited.in_original(error))
    }

    /// Returns true if there is a value at a path.
    ///
    /// # Errors
    /// [`Error::Splice`] when the path is none.
    pub fn contains(&self, path: impl Path) -> Result<bool, Error> {
        let path = self.pointer(&path)?;
        Ok(splice::node_at(&self.edited.tree()?, &path).is_some())
    }

    /// Returns the keys of the mapping at a path, in their order and as they are read (`true` for `on`); nothing if there is no mapping.
    /// Those that a merge key `<<` brings are not among them.
    ///
    /// ```
    /// let mut editor = yaml_json_patch::Editor::new("services: {web: {}, db: {}}\n")?;
    /// for service in editor.keys("/services")? {
    ///     editor.set(["services", &service, "restart"], "always")?;
    /// }
    /// assert!(editor.contains("/services/db/restart")?);
    /// # Ok::<(), yaml_json_patch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Splice`] when the path is none.
    pub fn keys(&self, path: impl Path) -> Result<Vec<String>, Error> {
        let path = self.pointer(&path)?;
        let tree = self.edited.tree()?;
        let mapping = splice::node_at(&tree, &path).map(|node| tree.alias_target(node));
        let entries = mapping.into_iter().flat_map(|node| tree.entries(node));
        Ok(entries.filter_map(|(key, _)| name_of(&tree, key)).collect())
    }

    /// Replaces the value at a path, or adds it to the mapping or list that ends the path. `-` adds an item at the end of a list.
    /// Adds the mappings that are missing on the way, and the list for `-`, also in place of a null or in a file of comments. A value
    /// that is there already keeps its text. Beside a value that a merge key `<<` brings, another one is added.
    ///
    /// # Errors
    /// [`Error::Splice`] when something else is on the way, the list of an index is missing, or the text cannot be edited safely.
    pub fn set(&mut self, path: impl Path, value: impl Into<Value>) -> Result<&mut Self, Error> {
        let mut path = self.pointer(&path)?;
        let mut value: Value = value.into();
        let tree = self.edited.tree()?;
        let is_there = |path: &Pointer| {
            splice::node_at(&tree, path)
                .is_some_and(|node| scalar_value(&tree, node) != Ok(ScalarValue::Null))
        };
        while let Some((parent, key)) = path.split_back().filter(|(parent, _)| !is_there(parent)) {
            value = match &*key.decoded() {
                "-" => json!([value]),
                index if index.parse::<usize>().is_ok() => return Err(self.nowhere(&path)),
                key => json!({ key: value }),
            };
            path = parent.to_buf();
        }
        let is_item = splice::source_at(&tree, &path).is_some_and(|found| found.key.is_none());
        let value = Arc::new(value);
        self.carry_out(if is_item {
            Operation::Replace { path, value }
        } else {
            Operation::Add { path, value }
        })
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

    /// Adds a member in front of the one that has the name `next`, and of the comment right above that.
    ///
    /// ```
    /// let mut editor = yaml_json_patch::Editor::new("kind: Pod\n# Many.\nspec: {}\n")?;
    /// editor.insert_before("/metadata", "spec", serde_json::json!({"name": "web"}))?;
    /// editor.insert_after("/apiVersion", "kind", "v1")?;
    /// assert_eq!(
    ///     editor.finish(),
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
        self.carry_out(Operation::InsertBefore {
            path,
            value: Arc::new(value.into()),
            before: next.to_owned(),
        })
    }

    /// Adds a member behind the one that has the name `previous`.
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no member `previous`, or one of the new name is there already.
    pub fn insert_after(
        &mut self,
        path: impl Path,
        previous: &str,
        value: impl Into<Value>,
    ) -> Result<&mut Self, Error> {
        let path = self.beside(&path, previous)?;
        self.carry_out(Operation::InsertAfter {
            path,
            value: Arc::new(value.into()),
            after: previous.to_owned(),
        })
    }

    /// Gives a member another name, in its place.
    ///
    /// ```
    /// let mut editor = yaml_json_patch::Editor::new("name: a # n\nruns: b\n")?;
    /// assert_eq!(editor.rename("/name", "title")?.finish(), "title: a # n\nruns: b\n");
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
        match self.carry_out(Operation::Remove { path }) {
            Ok(_) => Ok(true),
            Err(Error::Splice(error)) if error.kind == ErrorKind::InvalidPointer => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the comment of a member or an item, each line without its `#`.
    ///
    /// # Errors
    /// [`Error::Splice`] when there is no such value, other values share its lines, or the document is JSON.
    pub fn comment(&self, path: impl Path, place: CommentPlace) -> Result<Option<String>, Error> {
        let path = self.pointer(&path)?;
        let tree = self.edited.tree()?;
        let comment = self.at_comment(&tree, &path, place)?.text();
        Ok(Some(comment).filter(|comment| !comment.is_empty()))
    }

    /// Writes the comment of a member or an item, instead of the one that it may have. An empty text removes it. At the end of a line,
    /// several lines become one. Lines that stay are not touched, others begin as the old comment does (`##`), or as they are where
    /// they begin with `##` or `# `.
    ///
    /// Above, the comment is that of the lines right above the value in its column, but for `#- x`: an item that is commented out
    /// belongs to its list.
    ///
    /// ```
    /// use yaml_json_patch::{CommentPlace, Editor};
    ///
    /// let mut editor = Editor::new("a:\n  b: 1\n")?;
    /// editor
    ///     .set_comment("/a/b", CommentPlace::Above, "one,\nand only")?
    ///     .set_comment("/a", CommentPlace::LineEnd, "of all")?;
    /// assert_eq!(editor.finish(), "a: # of all\n  # one,\n  # and only\n  b: 1\n");
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
        let tree = self.edited.tree()?;
        let edit = match self.at_comment(&tree, &path, place) {
            // No comment can be there.
            Err(Error::Splice(error)) if error.kind == ErrorKind::Layout && text.is_empty() => None,
            comment => comment?.edit(&tree, text),
        };
        if let Some(edit) = edit {
            self.edited = self.edited.commented(&self.original, edit)?;
        }
        Ok(self)
    }

    /// Returns the edits of the text that was read.
    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.edited.edits
    }

    /// Returns the edited text.
    #[must_use]
    pub fn finish(&self) -> String {
        self.text().to_owned()
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

    fn at_comment<'t>(
        &self,
        tree: &Tree<'t>,
        path: &Pointer,
        place: CommentPlace,
    ) -> Result<splice::Comment<'t>, Error> {
        splice::comment_at(tree, path, place).map_err(|error| self.edited.in_original(error))
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

    /// The path of a new member that is to be beside another one.
    fn beside(&self, path: &impl Path, other: &str) -> Result<PointerBuf, Error> {
        let path = self.element(path)?;
        let tree = self.edited.tree()?;
        let parent = path
            .parent()
            .and_then(|parent| splice::node_at(&tree, parent));
        if parent.is_some_and(|parent| tree.kind(tree.alias_target(parent)) == Kind::Sequence) {
            let detail = "only a member has a place before or after another one; `insert` puts an item at an index";
            return Err(ErrorKind::InvalidPointer
                .at(0)
                .saying(detail.to_owned())
                .into());
        }
        let other = with_last(&path, other);
        if splice::node_at(&tree, &other).is_none() {
            return Err(self.nowhere(&other));
        }
        self.expect_absent(&path)?;
        Ok(path)
    }

    fn expect_absent(&self, path: &Pointer) -> Result<(), Error> {
        match splice::source_at(&self.edited.tree()?, path) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::DuplicateKey
                .at(0)
                .saying(format!("`{path}` is there already"))
                .into()),
        }
    }

    fn nowhere(&self, path: &Pointer) -> Error {
        match self.edited.tree() {
            Ok(tree) => self.edited.in_original(splice::nowhere(&tree, path)),
            Err(error) => error,
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
