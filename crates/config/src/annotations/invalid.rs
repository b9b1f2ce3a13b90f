//! Invalid annotations, as they are reported.

use crate::template_config::AnnotationConflict;
use crate::violation::Violation;
use mackerel::annotations::PREFIX;

/// An annotation with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAnnotation {
    /// Full key.
    pub key: String,
    /// Byte offset of the value.
    pub offset: usize,
    /// The mistake in lower case, without a full stop; names the key.
    pub message: String,
    /// A suggestion of a valid value.
    pub help: Option<String>,
}

/// Every annotation of a template that is invalid or conflicts with another setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAnnotations {
    /// The first in the order of the manifest.
    pub first: InvalidAnnotation,
    /// The others, in the order of the manifest.
    pub others: Vec<InvalidAnnotation>,
}

impl InvalidAnnotations {
    pub(super) fn of(mut all: Vec<InvalidAnnotation>) -> Option<Self> {
        if all.is_empty() {
            return None;
        }
        let first = all.remove(0);
        Some(InvalidAnnotations { first, others: all })
    }
}

/// Returns a violation of one annotation.
pub(super) fn invalid(key: &str, offset: usize, violation: Violation) -> InvalidAnnotation {
    let message = format!("annotation `{key}` {}", violation.what);
    InvalidAnnotation {
        key: key.to_owned(),
        offset,
        message,
        help: violation.help,
    }
}

/// Reports a conflict of settings at the first annotation; the message ends with the annotations involved.
pub(super) fn conflicting(
    AnnotationConflict {
        first,
        others,
        violation,
    }: AnnotationConflict,
) -> InvalidAnnotation {
    let name = |key: &str| format!("`{}`", key.strip_prefix(PREFIX).unwrap_or(key));
    let names: Vec<String> = std::iter::once(&first)
        .chain(&others)
        .map(|(key, _)| name(key))
        .collect();
    let word = if others.is_empty() {
        "annotation"
    } else {
        "annotations"
    };
    let message = format!("{} ({word} {})", violation.what, names.join(" and "));
    let (key, offset) = first;
    InvalidAnnotation {
        key,
        offset,
        message,
        help: violation.help,
    }
}
