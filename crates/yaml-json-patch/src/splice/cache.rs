//! Texts that were written and read back before: the documents of a stream mostly get the same values, in the same layout.

use super::render::Placement;
use crate::tree::Buffer;
use serde_json::Value;
use std::cell::{RefCell, RefMut};
use std::sync::Arc;

/// Work that [`splice`](crate::splice()) and [`verify`](crate::verify()) share between documents. It compares values by
/// identity, so share an [`Arc`] to profit.
#[derive(Debug, Default)]
pub struct Cache {
    written: RefCell<Vec<Written>>,
    verified: RefCell<Vec<Verified>>,
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
    /// The column of the node.
    column: usize,
    text: Box<str>,
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

    /// The memory for the next tree of an edited text: see [`read_into`](crate::read_into).
    pub fn buffer(&self) -> RefMut<'_, Buffer> {
        self.buffer.borrow_mut()
    }

    /// True where this very text was read back as this very value before, in the same column: `a:` with an indented line
    /// below it holds that line, or nothing if `a` itself is indented deeper.
    pub(crate) fn is_verified(&self, value: &Arc<Value>, column: usize, raw: &str) -> bool {
        let same = |known: &Verified| {
            Arc::ptr_eq(&known.value, value) && known.column == column && *known.text == *raw
        };
        self.verified.borrow().iter().any(same)
    }

    /// Remembers that a text was read back as a value.
    pub(crate) fn remember_verified(&self, value: &Arc<Value>, column: usize, raw: &str) {
        let mut verified = self.verified.borrow_mut();
        if verified.len() < CAPACITY && is_shared(value) {
            verified.push(Verified {
                value: Arc::clone(value),
                column,
                text: raw.into(),
            });
        }
    }
}
