//! Applies a JSON Patch ([RFC 6902]) to the text of a YAML or JSON document and keeps everything else as it is, byte for byte:
//! comments, quotes, key order, blank lines, line ends.
//!
//! ```
//! use yaml_json_patch::{Patch, apply};
//!
//! let settings = "\
//! ## What the night shift may change.
//! backup:
//!   at: '03:00'
//!   keep: 7 days   # as the contract says
//!   mode: 0640
//!   hosts: [db1, db2]
//!
//! alerts:
//! - mail: ops@example.com
//! ";
//! let patch: Patch = serde_json::from_str(
//!     r#"[
//!         {"op": "test", "path": "/backup/mode", "value": 416},
//!         {"op": "replace", "path": "/backup/keep", "value": "14 days"},
//!         {"op": "add", "path": "/backup/hosts/-", "value": "db3"},
//!         {"op": "add", "path": "/alerts/-", "value": {"mail": "night@example.com", "weekends": true}}
//!     ]"#,
//! )?;
//! assert_eq!(
//!     apply(settings, &patch)?,
//!     "\
//! ## What the night shift may change.
//! backup:
//!   at: '03:00'
//!   keep: 14 days   # as the contract says
//!   mode: 0640
//!   hosts: [db1, db2, db3]
//!
//! alerts:
//! - mail: ops@example.com
//! - mail: night@example.com
//!   weekends: true
//! "
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! New text is written in the style that surrounds it: flush or indented lists, brackets or lines, the file's line ends. A
//! removal is the inverse of an addition: what was added by a patch, and is removed by another one, leaves no trace.
//!
//! Not kept: comments inside a value that the patch replaces or removes. Text that cannot be edited without guessing,
//! such as a place that is reached through an alias, is refused by name ([`ErrorKind`]) and never printed anew.
//!
//! # Parts
//!
//! | for | take |
//! | --- | --- |
//! | one document, some values and comments | [`Editor`] |
//! | one document, one patch | [`apply`], or [`edits`] for an editor, a diff, or a document inside a larger text |
//! | several documents | [`Stream`]; or [`documents()`], each with its range of bytes |
//!
//! Offsets and ranges are bytes of the text that was given, from 0. Pointers are JSON Pointers ([RFC 6901]).
//!
//! # Features
//!
//! `kubernetes` has what this repository's program needs beside, and may change with a minor version: the tree of a document with its
//! places, JSON that YAML would refuse, nulls that come back as they were written, and all errors of several patches.
//!
//! [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901

#![warn(missing_docs, unreachable_pub)]
#![cfg_attr(
    not(feature = "kubernetes"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "that feature shows it"
    )
)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// In order of dependency: a module names only those above it.
mod tree;

mod block_scalar;
mod quote;
mod tag;

mod scalar;

mod read;
mod value;

mod json;

#[cfg(not(feature = "kubernetes"))]
mod pointer;
#[cfg(feature = "kubernetes")]
pub mod pointer;

mod lookup;

mod documents;
#[cfg(not(feature = "kubernetes"))]
mod edit;
#[cfg(feature = "kubernetes")]
pub mod edit;
mod position;

mod splice;

mod verify;

mod patch;

mod editor;

mod stream;

#[cfg(feature = "kubernetes")]
mod kubernetes;

pub use documents::{Document, Documents, documents};
pub use edit::Edit;
pub use editor::{Editor, Path};
/// A JSON Patch, of the major version that kube's crates use too. serde reads it.
pub use json_patch::Patch;
#[cfg(feature = "kubernetes")]
pub use kubernetes::*;
pub use patch::{Error, apply, apply_with, edits};
pub use position::Position;
#[cfg(any(test, feature = "unstable-readers"))]
#[doc(hidden)]
pub use read::{read_complete, read_fast};
pub use splice::{AnchorPolicy, CommentPlace, ErrorKind, FailedOperation, SpliceError};
pub use stream::Stream;
pub use tree::YamlError;
pub use verify::Mismatch;
