//! The annotations that an injection writes: `status` and `record`.

use crate::agent::Record;
use crate::mackerel::annotations::Annotation;
use crate::mackerel::names::INJECTED;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::rc::Rc;

/// The annotations of earlier records, for reuse: most templates of a stream get the same record.
#[derive(Debug, Default)]
pub(crate) struct RecordCache {
    written: RefCell<Vec<(Record, Rc<OwnAnnotations>)>>,
}

/// Records that are kept; more than any real stream has.
const CAPACITY: usize = 64;

/// Bytes of a record that is kept: a webhook keeps those of many pods.
const MAX_CACHED: usize = 1 << 10;

/// Annotations in each form in which they are added.
#[derive(Debug)]
pub(super) struct OwnAnnotations {
    /// Each annotation by itself.
    pub(super) each: Vec<(&'static str, Rc<Value>)>,
    /// A mapping of all.
    pub(super) mapping: Rc<Value>,
    /// Metadata with that mapping and no other field.
    pub(super) metadata: Rc<Value>,
}

impl RecordCache {
    /// Returns the annotations of a record.
    pub(super) fn annotations(&self, record: Record) -> Rc<OwnAnnotations> {
        let mut written = self.written.borrow_mut();
        if let Some((_, annotations)) = written.iter().find(|(known, _)| *known == record) {
            return Rc::clone(annotations);
        }
        let text = record.to_string();
        let is_short = text.len() <= MAX_CACHED;
        let annotations = Rc::new(OwnAnnotations::of(of_record(&record, text)));
        if written.len() < CAPACITY && is_short {
            written.push((record, Rc::clone(&annotations)));
        }
        annotations
    }
}

impl OwnAnnotations {
    pub(super) fn of(each: Vec<(&'static str, Value)>) -> Self {
        let mapping: Map<String, Value> = each
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect();
        Self {
            metadata: Rc::new(json!({ "annotations": mapping })),
            mapping: Rc::new(Value::Object(mapping)),
            each: each
                .into_iter()
                .map(|(key, value)| (key, Rc::new(value)))
                .collect(),
        }
    }
}

fn of_record(record: &Record, text: String) -> Vec<(&'static str, Value)> {
    let status = status_is_added(record).then(|| (Annotation::Status.key(), Value::from(INJECTED)));
    let record = (Annotation::Record.key(), Value::from(text));
    status.into_iter().chain([record]).collect()
}

/// True if `status` was added. It goes with an agent: the original injector then leaves the pod alone.
pub(super) fn status_is_added(record: &Record) -> bool {
    record
        .components
        .agent()
        .is_some_and(|agent| agent.status_is_added)
}
