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

pub use response::{Answer, Subject};
pub use review::Malformed;

use crate::agent::Agents;
use crate::config::{Config, InjectionMode, OnError, Spec};
use crate::decide::DecisionContext;
use crate::inject::asks_for_nothing;
use crate::manifest::identity::Identity;
use crate::manifest::resource::Resource;
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
    /// Nothing changes.
    Leave(Finding),
    /// Nothing changes, and the person who sent the object is warned.
    Warn(Finding, Findings),
    /// The operations, with pointers from the object's root, and warnings.
    Patch(Finding, Patch, Findings),
    /// The decision first, then what else makes the object refused.
    Refuse(Findings),
    /// A fault of this program.
    Fault(String),
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

    /// The configuration, as it was given.
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
        let mut name = request.name.as_deref().unwrap_or_default().to_owned();
        let verdict = self.verdict(hook, &request, &mut name);
        Ok(response::answer(
            &request,
            name,
            verdict,
            self.on_error(hook),
        ))
    }

    /// Answers a review whose object is too large to be read. `beginning` is the body, or its first bytes, which must hold what
    /// comes before the object.
    ///
    /// # Errors
    /// As [`Reviewer::answer`].
    pub fn too_large(&self, hook: Hook, beginning: &[u8]) -> Result<Answer, Malformed> {
        let (head, object) = review::cut(beginning);
        let request = AdmissionRequest::read(&head)?;
        let verdict = match request.is_for(hook) {
            true => self.unread(
                &request,
                &String::from_utf8_lossy(object),
                "the object is too large",
            ),
            false => Verdict::Leave(request.not_selected()),
        };
        let name = request.name.as_deref().unwrap_or_default().to_owned();
        Ok(response::answer(
            &request,
            name,
            verdict,
            self.on_error(hook),
        ))
    }

    fn on_error(&self, hook: Hook) -> OnError {
        if hook == Hook::Mutate {
            self.config.spec.on_error
        } else {
            OnError::Skip
        }
    }

    /// Decides about the object, and takes its name: a request to create a pod with `generateName` has none.
    fn verdict(&self, hook: Hook, request: &AdmissionRequest<'_>, name: &mut String) -> Verdict {
        let Some(object) = request.object().filter(|_| request.is_for(hook)) else {
            return Verdict::Leave(request.not_selected());
        };
        let tree = match yaml_json_patch::read_json(object) {
            Ok(tree) => tree,
            Err(error) => return self.unread(request, object.get(), &error.message),
        };
        let Some(resource) = resource(&tree, request) else {
            return Verdict::Leave(request.not_selected());
        };
        name.clone_from(&resource.identity.name);
        match hook {
            Hook::Mutate => self.pod(&tree, &resource),
            Hook::Warn => self.warn(&tree, &resource),
            Hook::WaitFor => self.wait_for(&tree, &resource, request),
        }
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
                .namespace
                .as_deref()
                .and_then(|namespace| select.leaves_out(namespace)),
        };
        match unwanted {
            Some(reason) => Verdict::Leave(Finding::new(reason, reason.sentence(), 0, "")),
            None => Verdict::Refuse(
                [Finding::new(Reason::Uneditable, message, 0, "")]
                    .into_iter()
                    .collect(),
            ),
        }
    }

    fn context(&self) -> DecisionContext<'_> {
        DecisionContext {
            config: &self.config,
            agents: &self.agents,
            patch: None,
        }
    }
}

/// Returns an answer that allows the object as it is, after a fault of this program such as a panic.
///
/// # Errors
/// As [`Reviewer::answer`].
pub fn fault(body: &[u8], message: String) -> Result<Answer, Malformed> {
    let request = AdmissionRequest::read(body)?;
    let name = request.name.as_deref().unwrap_or_default().to_owned();
    Ok(response::answer(
        &request,
        name,
        Verdict::Fault(message),
        OnError::Skip,
    ))
}

/// The object as a resource. Its namespace is the request's: the API server leaves it out of objects that name none.
fn resource(tree: &Tree<'_>, request: &AdmissionRequest<'_>) -> Option<Resource> {
    let mut resource =
        crate::manifest::resource::resources(tree, tree.root()?, &request.types()).pop()?;
    let namespace = request
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty());
    let Identity { namespace: own, .. } = &mut resource.identity;
    *own = namespace.map(str::to_owned).or(own.take());
    Some(resource)
}
