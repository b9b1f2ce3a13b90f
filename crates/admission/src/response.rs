//! The answer to an AdmissionReview.

use crate::findings::{Findings, warning};
use crate::review::AdmissionRequest;
use crate::verdict::{Review, Verdict};
use config::OnError;
use json_patch::Patch;
use k8s_openapi::ByteString;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// An answer, with the facts for logs and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The AdmissionReview to send, as JSON.
    pub body: Vec<u8>,
    /// The id of the decision; `internal-error` for a fault of this program.
    pub decision: &'static str,
    /// The object of the review.
    pub subject: Subject,
    /// One sentence about the decision. It has no values of environment variables.
    pub message: String,
    /// True for a fault of this program.
    pub is_fault: bool,
}

/// The object of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// For example `Pod`.
    pub kind: String,
    /// Absent for an object without namespace.
    pub namespace: Option<String>,
    /// `metadata.name`, else `metadata.generateName`, else empty.
    pub name: String,
    /// True for a dry run: the API server stores nothing.
    pub is_dry_run: bool,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, .. } = self;
        match &self.namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{name}"),
            None => write!(f, "{kind} {name}"),
        }
    }
}

/// The decision of a fault of this program.
const INTERNAL_ERROR: &str = "internal-error";

/// The status of an object that is not allowed: Unprocessable Entity, as for an object that fails its validation.
const UNPROCESSABLE: u16 = 422;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReview<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: AdmissionResponse<'a>,
}

// kube-core's AdmissionResponse writes a patch as a list of numbers, four times as long as the base64 of the API's documents.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionResponse<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    audit_annotations: BTreeMap<&'static str, &'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Status<'a> {
    code: u16,
    message: &'a str,
}

/// Writes the answer to a request.
pub(super) fn answer(request: &AdmissionRequest<'_>, review: Review, on_error: OnError) -> Answer {
    let mut allowed = true;
    let (decision, message, patch, findings) = match review.verdict {
        Verdict::Allow {
            decision,
            patch,
            findings,
        } => (decision.reason.id(), decision.message, patch, findings),
        Verdict::Refuse(findings) => {
            allowed = on_error == OnError::Skip;
            let first = findings.first();
            let decision = first.map_or(INTERNAL_ERROR, |finding| finding.reason.id());
            let message = first.map(warning).unwrap_or_default();
            (decision, message, Patch::default(), findings)
        }
        Verdict::Fault(message) => {
            let findings = Findings::default();
            (INTERNAL_ERROR, message, Patch::default(), findings)
        }
    };
    let mut warnings = findings.shown();
    if !allowed && !warnings.is_empty() {
        // The status has the first.
        warnings.remove(0);
    }
    let patch = encoded(&patch);
    let response = AdmissionResponse {
        uid: &request.uid,
        allowed,
        status: (!allowed).then_some(Status {
            code: UNPROCESSABLE,
            message: &message,
        }),
        patch_type: patch.is_some().then_some("JSONPatch"),
        patch: patch.map(ByteString),
        audit_annotations: [("decision", decision)].into(),
        warnings,
    };
    let body = AdmissionReview {
        api_version: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response,
    };
    Answer {
        // Serialising strings and numbers cannot fail.
        body: serde_json::to_vec(&body).unwrap_or_default(),
        decision,
        subject: Subject {
            kind: request.kind.kind.to_string(),
            namespace: request.namespace().map(str::to_owned),
            name: review.name,
            is_dry_run: request.dry_run == Some(true),
        },
        message,
        is_fault: decision == INTERNAL_ERROR,
    }
}

/// Returns the patch as JSON; none if it has no operations.
fn encoded(patch: &Patch) -> Option<Vec<u8>> {
    if patch.0.is_empty() {
        None
    } else {
        serde_json::to_vec(patch).ok()
    }
}
