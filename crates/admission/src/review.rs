//! The AdmissionReview that the API server sends.

use crate::Hook;
use kube_core::TypeMeta;
use report::{Finding, Reason};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A body that is not an AdmissionReview with a request. A front end answers it with 400.
#[derive(Debug, thiserror::Error)]
#[error("not an AdmissionReview of admission.k8s.io/v1: {message}")]
pub struct Malformed {
    /// The reason.
    pub message: String,
}

/// The most characters of the message about a malformed body.
const MAX_MESSAGE: usize = 200;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReview<'b> {
    #[serde(borrow)]
    api_version: Cow<'b, str>,
    #[serde(borrow)]
    kind: Cow<'b, str>,
    #[serde(borrow)]
    request: Option<AdmissionRequest<'b>>,
}

/// The fields of a request that decide about its answer. The object is parsed later, if its resource is selected.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionRequest<'b> {
    #[serde(borrow)]
    pub(super) uid: Cow<'b, str>,
    #[serde(borrow)]
    pub(super) kind: Kind<'b>,
    #[serde(borrow)]
    resource: Plural<'b>,
    #[serde(borrow, default)]
    sub_resource: Option<Cow<'b, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'b, str>>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'b, str>>,
    operation: Operation,
    #[serde(default)]
    pub(super) dry_run: Option<bool>,
    #[serde(borrow, default)]
    object: Option<&'b RawValue>,
}

/// Group, version and kind of the object.
#[derive(Deserialize)]
pub(super) struct Kind<'b> {
    #[serde(borrow)]
    group: Cow<'b, str>,
    #[serde(borrow)]
    version: Cow<'b, str>,
    #[serde(borrow)]
    pub(super) kind: Cow<'b, str>,
}

/// Group and plural name of the resource.
#[derive(Deserialize)]
struct Plural<'b> {
    #[serde(borrow)]
    group: Cow<'b, str>,
    #[serde(borrow)]
    resource: Cow<'b, str>,
}

/// The operation on the object.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl<'b> AdmissionRequest<'b> {
    /// Reads the request of a review.
    pub(super) fn read(body: &'b [u8]) -> Result<Self, Malformed> {
        // It repeats what the caller sent.
        let malformed = |message: String| Malformed {
            message: message.chars().take(MAX_MESSAGE).collect(),
        };
        let review: AdmissionReview<'b> =
            serde_json::from_slice(body).map_err(|error| malformed(error.to_string()))?;
        if (&*review.api_version, &*review.kind) != ("admission.k8s.io/v1", "AdmissionReview") {
            return Err(malformed(format!(
                "found {} of {}",
                review.kind, review.api_version
            )));
        }
        review
            .request
            .ok_or_else(|| malformed("`request` is missing".to_owned()))
    }

    /// Returns true if the hook is for this operation on this resource.
    pub(super) fn is_for(&self, hook: Hook) -> bool {
        let is_wanted = match hook {
            Hook::Mutate => self.is_about("", "pods") && self.operation == Operation::Create,
            // The template of a Job is immutable: the API server would refuse the patched update.
            Hook::WaitFor if self.is_about("batch", "jobs") => self.operation == Operation::Create,
            Hook::Warn | Hook::WaitFor => {
                matches!(self.operation, Operation::Create | Operation::Update)
            }
        };
        is_wanted && self.sub_resource.as_deref().is_none_or(str::is_empty)
    }

    fn is_about(&self, group: &str, resource: &str) -> bool {
        self.resource.group == group && self.resource.resource == resource
    }

    /// Returns `metadata.name`; empty if the object has none yet.
    pub(super) fn name(&self) -> String {
        self.name.as_deref().unwrap_or_default().to_owned()
    }

    /// Returns the namespace; none for an object without one.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty())
    }

    /// Returns the object; none if it is null, as on DELETE.
    pub(super) fn object(&self) -> Option<&'b RawValue> {
        self.object.filter(|object| object.get() != "null")
    }

    /// Returns API version and kind of the object.
    pub(super) fn types(&self) -> TypeMeta {
        let Kind {
            group,
            version,
            kind,
        } = &self.kind;
        TypeMeta {
            api_version: match &**group {
                "" => version.to_string(),
                group => format!("{group}/{version}"),
            },
            kind: kind.to_string(),
        }
    }

    /// Returns the finding about an object that the hook is not for.
    pub(super) fn not_selected(&self) -> Finding {
        let message = "the webhook does not support this operation on this resource";
        Finding::new(Reason::NotSelected, message, 0, "")
    }
}

/// Cuts the beginning of a body into a review without an object, and the text of the object. The API server writes the object
/// after the fields that identify it; a quote within a string would be `\"`.
pub(super) fn cut(beginning: &[u8]) -> (Cow<'_, [u8]>, &[u8]) {
    match memchr::memmem::find(beginning, br#","object":{"#) {
        Some(at) => {
            let (head, object) = beginning.split_at(at);
            ([head, b"}}"].concat().into(), object)
        }
        None => (beginning.into(), beginning),
    }
}
