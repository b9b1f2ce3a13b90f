//! Admission reviews: the bytes of an AdmissionReview in, the answer out. No I/O, no HTTP.
//!
//! ```
//! use mackerel_agent_injector::admission::{Hook, Reviewer};
//! use mackerel_agent_injector::config::Config;
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

mod operations;
mod pod;
mod response;
mod review;
mod workload;

pub(crate) use pod::copied_record;
pub use response::{Answer, Subject};
pub use review::Malformed;

use crate::agent::Agents;
use crate::config::{Config, InjectionMode, OnError, Spec};
use crate::decide::DecisionContext;
use crate::inject::asks_for_nothing;
use crate::inject::severity::SeverityPolicy;
use crate::manifest::resource::{Resource, resources};
use crate::options::Options;
use crate::reconcile::own_annotations::RecordCache;
use crate::report::{Finding, Reason};
use json_patch::Patch;
use response::Findings;
use review::AdmissionRequest;
use std::sync::Arc;
use yaml_json_patch::Tree;

/// The webhook that the API server calls. Only the first one ever refuses an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// Mutating, for pods: adds the agent.
    Mutate,
    /// Validating, for workloads: warns the person who applies one, since warnings about its pods reach only a controller.
    Warn,
    /// Mutating, for workloads: adds the init container that waits. The agent comes with the pods.
    WaitFor,
}

impl Hook {
    /// Every hook.
    pub const ALL: [Hook; 3] = [Hook::Mutate, Hook::Warn, Hook::WaitFor];

    /// The path of its URL.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Hook::Mutate => "/mutate",
            Hook::Warn => "/warn",
            Hook::WaitFor => "/wait-for",
        }
    }

    /// The path without the slash, for metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.path().trim_start_matches('/')
    }
}

/// The verdict on one object.
enum Verdict {
    /// The object is allowed. The person who sent it is warned of the findings.
    Allow {
        decision: Finding,
        /// Pointers from the object's root; empty if nothing changes.
        patch: Patch,
        findings: Findings,
    },
    /// The decision first, then what else makes the object refused.
    Refuse(Findings),
    /// A fault of this program.
    Fault(String),
}

impl Verdict {
    /// Changes nothing.
    fn leave(decision: Finding) -> Self {
        Verdict::warn(decision, Findings::default())
    }

    /// Changes nothing, and warns the person who sent the object.
    fn warn(decision: Finding, findings: Findings) -> Self {
        Verdict::Allow {
            decision,
            patch: Patch::default(),
            findings,
        }
    }

    fn refuse(finding: Finding) -> Self {
        Verdict::Refuse([finding].into_iter().collect())
    }
}

/// A verdict with the name of its object.
struct Review {
    name: String,
    verdict: Verdict,
}

/// Answers reviews under one configuration, and shares work between them.
pub struct Reviewer {
    config: Arc<Config>,
    agents: Agents,
    records: RecordCache,
}

impl Reviewer {
    /// Answers under this configuration.
    #[must_use]
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            agents: Agents::default(),
            records: RecordCache::default(),
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Answers one review.
    ///
    /// # Errors
    /// [`Malformed`]: the body is not an AdmissionReview of `admission.k8s.io/v1` with a request.
    pub fn answer(&self, hook: Hook, body: &[u8]) -> Result<Answer, Malformed> {
        let request = AdmissionRequest::read(body)?;
        let review = self.review(hook, &request);
        Ok(response::answer(&request, review, self.on_error(hook)))
    }

    /// Answers a review whose object is too large to be read. `beginning` is the body, or its first bytes, which must hold what
    /// comes before the object.
    ///
    /// # Errors
    /// As [`Reviewer::answer`].
    pub fn too_large(&self, hook: Hook, beginning: &[u8]) -> Result<Answer, Malformed> {
        let (head, object) = review::cut(beginning);
        let request = AdmissionRequest::read(&head)?;
        let verdict = if request.is_for(hook) {
            let text = String::from_utf8_lossy(object);
            self.unread(&request, &text, "the object is too large")
        } else {
            Verdict::leave(request.not_selected())
        };
        let name = request.name();
        let review = Review { name, verdict };
        Ok(response::answer(&request, review, self.on_error(hook)))
    }

    fn on_error(&self, hook: Hook) -> OnError {
        match hook {
            Hook::Mutate => self.config.spec.on_error,
            Hook::Warn | Hook::WaitFor => OnError::Skip,
        }
    }

    /// Decides about the object, and reads its name: a request to create a pod with `generateName` has none.
    fn review(&self, hook: Hook, request: &AdmissionRequest<'_>) -> Review {
        let mut name = request.name();
        let verdict = match request.object() {
            Some(object) if request.is_for(hook) => match yaml_json_patch::read_json(object) {
                Err(error) => self.unread(request, object.get(), &error.message),
                Ok(tree) => match resource(&tree, request) {
                    None => Verdict::leave(request.not_selected()),
                    Some(resource) => {
                        name.clone_from(&resource.identity.name);
                        match hook {
                            Hook::Mutate => self.pod(&tree, &resource),
                            Hook::Warn => self.warn(&tree, &resource),
                            Hook::WaitFor => self.wait_for(&tree, &resource, request),
                        }
                    }
                },
            },
            _ => Verdict::leave(request.not_selected()),
        };
        Review { name, verdict }
    }

    /// Decides about an object that cannot be read, by its namespace and its text.
    fn unread(&self, request: &AdmissionRequest<'_>, text: &str, message: &str) -> Verdict {
        let Spec {
            injection, select, ..
        } = &self.config.spec;
        let unwanted = match injection {
            InjectionMode::Disabled => Some(Reason::Disabled),
            InjectionMode::Annotated if asks_for_nothing(text, &self.config) => {
                Some(Reason::NotRequested)
            }
            InjectionMode::Annotated | InjectionMode::Always => request
                .namespace()
                .and_then(|namespace| select.leaves_out(namespace)),
        };
        match unwanted {
            Some(reason) => Verdict::leave(Finding::without_details(reason, 0, "")),
            None => Verdict::refuse(Finding::new(Reason::Uneditable, message, 0, "")),
        }
    }

    fn context(&self) -> DecisionContext<'_> {
        DecisionContext {
            config: &self.config,
            agents: &self.agents,
            patch: None,
        }
    }

    /// Returns the policy that knows which warnings are acknowledged.
    fn severity_policy(&self) -> SeverityPolicy {
        SeverityPolicy::of(&self.config, Options::default())
    }
}

/// Returns an answer that allows the object as it is, after a fault of this program such as a panic.
///
/// # Errors
/// As [`Reviewer::answer`].
pub fn fault(body: &[u8], message: String) -> Result<Answer, Malformed> {
    let request = AdmissionRequest::read(body)?;
    let review = Review {
        name: request.name(),
        verdict: Verdict::Fault(message),
    };
    Ok(response::answer(&request, review, OnError::Skip))
}

/// Returns the object as a resource. Its namespace is the request's: the API server leaves it out of objects that name none.
fn resource(tree: &Tree<'_>, request: &AdmissionRequest<'_>) -> Option<Resource> {
    let mut resource = resources(tree, tree.root()?, &request.types()).pop()?;
    if let Some(namespace) = request.namespace() {
        resource.identity.namespace = Some(namespace.to_owned());
    }
    Some(resource)
}
