//! Admission reviews: the bytes of an AdmissionReview in, the answer out. No I/O, no HTTP.
//!
//! ```
//! use admission::{Hook, Reviewer};
//! use config::Config;
//! use std::sync::Arc;
//!
//! let review = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7","operation":"CREATE",
//!   "kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
//!   "namespace":"shop","object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-"},
//!   "spec":{"containers":[{"name":"web","image":"web:1"}]}}}}"#;
//! let reviewer = Reviewer::new(Arc::new(Config::default()));
//! let answer = reviewer.answer(Hook::Mutate, review.as_bytes())?;
//! assert_eq!(answer.decision, "injected");
//! assert_eq!(answer.subject.to_string(), "Pod shop/web-");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | decision | answer |
//! | --- | --- |
//! | done | allowed, with a JSON Patch |
//! | skipped | allowed |
//! | refused, `onError: skip` | allowed, with a warning |
//! | refused by [`Hook::Mutate`], `onError: fail` | not allowed, 422 |
//! | a fault of this program | allowed, `internal-error` |
//!
//! A pod that has an injected agent stays as it is, whatever other webhooks or a LimitRange did to it: the webhook never updates
//! and never removes. The audit annotation `decision` has the id.

mod findings;
mod hook;
mod operations;
mod pod;
mod response;
mod review;
mod reviewer;
mod verdict;
mod workload;

pub use hook::Hook;
pub use response::{Answer, Subject};
pub use review::Malformed;
pub use reviewer::{Reviewer, fault};
