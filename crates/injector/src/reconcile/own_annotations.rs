//! The annotations that an injection writes: `status` and `record`.

use crate::agent::record::Record;
use mackerel::annotations::Annotation;
use mackerel::names::INJECTED;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::sync::Arc;

/// The annotations of earlier records, for reuse: most templates of a stream get the same record.
#[derive(Debug, Default)]
pub struct RecordCache {
    written: RefCell<Vec<(Record, Arc<OwnAnnotations>)>>,
}

/// Records that are kept; more than any real stream has.
const CAPACITY: usize = 64;

/// Bytes of a record that is kept: a webhook keeps those of many pods.
const MAX_CACHED: usize = 1 << 10;

/// Annotations in each form in which they are added.
#[derive(Debug)]
pub(super) struct OwnAnnotations {
    /// Each annotation by itself.
    pub(super) each: Vec<(String, Arc<Value>)>,
    /// A mapping of all.
    pub(super) mapping: Arc<Value>,
    /// Metadata with that mapping and no other field.
    pub(super) metadata: Arc<Value>,
}

impl RecordCache {
    /// Returns the annotations of a record; none if a later run could not read it, because it is too long.
    pub(super) fn annotations(&self, record: &Record) -> Option<Arc<OwnAnnotations>> {
        let mut written = self.written.borrow_mut();
        if let Some((_, annotations)) = written.iter().find(|(known, _)| known == record) {
            return Some(Arc::clone(annotations));
        }
        let text = record.to_string();
        Record::parse(&text).ok()?;
        let is_short = text.len() <= MAX_CACHED;
        let mut each = Vec::new();
        if record.added_status() {
            each.push((Annotation::Status.key().to_owned(), Value::from(INJECTED)));
        }
        each.push((Annotation::Record.key().to_owned(), Value::from(text)));
        let annotations = Arc::new(OwnAnnotations::of(each));
        if written.len() < CAPACITY && is_short {
            written.push((record.clone(), Arc::clone(&annotations)));
        }
        Some(annotations)
    }
}

impl OwnAnnotations {
    pub(super) fn of(annotations: Vec<(String, Value)>) -> Self {
        let mut mapping = Map::new();
        let mut each = Vec::new();
        for (key, value) in annotations {
            mapping.insert(key.clone(), value.clone());
            each.push((key, Arc::new(value)));
        }
        Self {
            metadata: Arc::new(json!({ "annotations": mapping })),
            mapping: Arc::new(Value::Object(mapping)),
            each,
        }
    }
}
