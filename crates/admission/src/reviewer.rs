//! Reviews under one configuration.

use crate::Hook;
use crate::response::{self, Answer};
use crate::review::{self, AdmissionRequest, Malformed};
use crate::verdict::{Review, Verdict};
use config::{Config, InjectionMode, OnError, Spec};
use injector::{Agents, DecisionContext, Options, RecordCache, SeverityPolicy, asks_for_nothing};
use manifest::{Resource, resources};
use report::{Finding, Reason};
use std::sync::Arc;
use yaml_json_patch::Tree;

/// Answers reviews under one configuration, and shares work between them.
pub struct Reviewer {
    pub(crate) config: Arc<Config>,
    agents: Agents,
    pub(crate) records: RecordCache,
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

    pub fn context(&self) -> DecisionContext<'_> {
        DecisionContext {
            config: &self.config,
            agents: &self.agents,
            patch: None,
        }
    }

    /// Returns the policy that knows which warnings are acknowledged.
    pub fn severity_policy(&self) -> SeverityPolicy {
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
