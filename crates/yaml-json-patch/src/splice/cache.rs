//! Texts that were written and read back before: the documents of a stream mostly get the same values, in the same layout.

use super::render::Placement;
use crate::edit::{self, Edit};
use crate::read::{Fragment, Reuse, read, read_again};
use crate::tree::{Buffer, Tree, YamlError};
use serde_json::Value;
use std::cell::RefCell;
use std::sync::Arc;

/// Work that [`splice`](crate::splice()) and [`verify`](crate::verify()) share between documents. It compares values by
/// identity, so share an [`Arc`] to profit.
#[derive(Debug, Default)]
pub struct Cache {
    written: RefCell<Vec<Written>>,
    verified: RefCell<Vec<Verified>>,
    fragments: RefCell<Vec<Fragment>>,
    texts: RefCell<Vec<Arc<str>>>,
    buffer: RefCell<Buffer>,
}

#[derive(Debug)]
struct Written {
    /// The name of a member; none for an item.
    name: Option<Box<str>>,
    value: Arc<Value>,
    layout: Placement,
    text: Arc<str>,
}

#[derive(Debug)]
struct Verified {
    value: Arc<Value>,
    /// The index of its text among the fragments.
    fragment: usize,
}

/// More than any real stream has: layouts times values. Beyond it, work is done again.
const CAPACITY: usize = 256;

/// A value with one owner is unique: caching it is useless.
fn is_shared(value: &Arc<Value>) -> bool {
    Arc::strong_count(value) > 1
}

impl Cache {
    /// The text of an item, or of a member of that name, in a layout, if it was written before.
    pub(crate) fn text(
        &self,
        name: Option<&str>,
        value: &Arc<Value>,
        layout: &Placement,
    ) -> Option<Arc<str>> {
        let written = self.written.borrow();
        let same = |written: &&Written| {
            Arc::ptr_eq(&written.value, value)
                && written.layout == *layout
                && written.name.as_deref() == name
        };
        written
            .iter()
            .find(same)
            .map(|written| Arc::clone(&written.text))
    }

    /// Remembers the text of an item or member in a layout.
    pub(crate) fn remember_text(
        &self,
        name: Option<&str>,
        value: &Arc<Value>,
        layout: Placement,
        text: &str,
    ) {
        let mut written = self.written.borrow_mut();
        if written.len() < CAPACITY && is_shared(value) {
            written.push(Written {
                name: name.map(Into::into),
                value: Arc::clone(value),
                layout,
                text: text.into(),
            });
        }
    }

    /// A text, shared with the edits before that have the same one.
    pub(crate) fn shared(&self, text: String) -> Arc<str> {
        let mut texts = self.texts.borrow_mut();
        if let Some(known) = texts.iter().find(|known| ***known == *text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        if texts.len() < CAPACITY {
            texts.push(Arc::clone(&text));
        }
        text
    }

    /// Gives the memory of an edited text's tree to the next one.
    pub fn recycle(&self, tree: Tree<'_>) {
        tree.recycle(&mut self.buffer.borrow_mut());
    }

    /// Reads an edited text, as [`read`](crate::read()) does, and copies what was read before: the nodes that the edits left
    /// whole, and the values that were inserted into other documents.
    ///
    /// # Errors
    /// As [`read`](crate::read()).
    ///
    /// # Panics
    /// As [`edit::pieces`].
    pub fn read_edited<'t>(
        &self,
        before: &Tree<'_>,
        edits: &[Edit],
        text: &'t str,
    ) -> Result<Tree<'t>, YamlError> {
        let fragments = self.fragments.borrow();
        let reuse = Reuse::new(before, edit::unchanged(before.text(), edits), &fragments);
        let tree = read_again(text, Some(&reuse), &mut self.buffer.borrow_mut())?;
        debug_assert_eq!(
            Ok(&tree),
            read(text).as_ref(),
            "a part reads otherwise here"
        );
        Ok(tree)
    }

    /// True where this very text was read back as this very value before, in the same column: `a:` with an indented line
    /// below it holds that line, or nothing if `a` itself is indented deeper.
    pub(crate) fn is_verified(&self, value: &Arc<Value>, column: usize, raw: &str) -> bool {
        let fragments = self.fragments.borrow();
        let same = |known: &Verified| {
            let is_text = |fragment: &Fragment| fragment.is(column, raw);
            Arc::ptr_eq(&known.value, value) && fragments.get(known.fragment).is_some_and(is_text)
        };
        self.verified.borrow().iter().any(same)
    }

    /// Remembers that a text was read back as a value.
    pub(crate) fn remember_verified(&self, value: &Arc<Value>, column: usize, raw: &str) {
        let mut fragments = self.fragments.borrow_mut();
        if fragments.len() < CAPACITY && is_shared(value) {
            self.verified.borrow_mut().push(Verified {
                value: Arc::clone(value),
                fragment: fragments.len(),
            });
            fragments.push(Fragment::read(column, raw));
        }
    }
}
