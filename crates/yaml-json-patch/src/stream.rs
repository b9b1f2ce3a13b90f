//! [`Stream`]: several documents in one text.

use crate::documents::{documents, is_prefix};
use crate::editor::Editor;
use crate::patch::Error;
use crate::read::read;
use crate::splice::{ErrorKind, Lines, ends_in_open_block_scalar};
use serde_json::Value;

/// Several documents in one text, each with an [`Editor`] of its own: offsets and errors are those of the document.
///
/// ```
/// use yaml_json_patch::Stream;
///
/// let mut stream = Stream::new("kind: Service\n---\n# The pod.\nkind: Pod\n---\nkind: Secret\n")?;
/// if let Some(pod) = stream.nth(1) {
///     pod.set("/metadata/name", "web")?;
/// }
/// assert!(stream.remove(2)?);
/// stream.push(serde_json::json!({"kind": "ConfigMap"}))?;
/// assert_eq!(
///     stream.finish(),
///     "kind: Service\n---\n# The pod.\nkind: Pod\nmetadata:\n  name: web\n---\nkind: ConfigMap\n"
/// );
/// # Ok::<(), yaml_json_patch::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stream {
    documents: Vec<Editor>,
}

impl Stream {
    /// Reads the documents, as [`documents()`] cuts them.
    ///
    /// # Errors
    /// [`Error::Yaml`] when one of them is not valid YAML, with its offset in the stream.
    pub fn new(text: &str) -> Result<Self, Error> {
        let documents = documents(text)
            .map(|document| {
                let start = document.span.start;
                Editor::new(&text[document.span]).map_err(|error| error.further_by(start))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { documents })
    }

    /// Returns the document of that index, from 0.
    pub fn nth(&mut self, index: usize) -> Option<&mut Editor> {
        self.documents.get_mut(index)
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns true if there is no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the documents in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Editor> {
        self.documents.iter()
    }

    /// Returns the documents in their order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Editor> {
        self.documents.iter_mut()
    }

    /// Adds a document behind all others. Comments that no document follows yet become its head.
    ///
    /// # Errors
    /// [`Error::Splice`] when the text ends in a block scalar that a line break would change.
    pub fn push(&mut self, value: impl Into<Value>) -> Result<&mut Self, Error> {
        if let Some(last) = self.documents.last_mut()
            && is_prefix(last.text())
        {
            last.set("", value)?;
            return Ok(self);
        }
        let text = self.documents.last().map_or("", Editor::text);
        let is_open = !text.is_empty() && !text.ends_with(['\n', '\r']);
        if is_open && ends_in_open_block_scalar(&read(text)?) {
            return Err(ErrorKind::OpenBlockScalar.at(text.len()).into());
        }
        let line_break = Lines { text }.break_before(text.len());
        let above = if is_open { line_break } else { "" };
        let head = if text.is_empty() {
            String::new()
        } else {
            [above, "---", line_break].concat()
        };
        let mut document = Editor::new(&head)?;
        document.set("", value)?;
        self.documents.push(document);
        Ok(self)
    }

    /// Removes a document, with its `---` and the comments around it. Returns false if there is none of that index.
    ///
    /// # Errors
    /// [`Error::Splice`] when those beside it would become one, since no `---` is between them.
    pub fn remove(&mut self, index: usize) -> Result<bool, Error> {
        if index >= self.documents.len() {
            return Ok(false);
        }
        let before = index
            .checked_sub(1)
            .and_then(|before| self.documents.get(before));
        if let (Some(before), Some(after)) = (before, self.documents.get(index + 1))
            && documents(&[before.text(), after.text()].concat()).count() < 2
        {
            return Err(ErrorKind::Layout.at(0).into());
        }
        self.documents.remove(index);
        Ok(true)
    }

    /// Returns the edited text.
    #[must_use]
    pub fn finish(&self) -> String {
        self.documents.iter().map(Editor::text).collect()
    }
}
