//! Decisions and warnings as data. Every pod template gets an [`Outcome`](crate::inject::Outcome) with a [`Reason`], whose
//! id is stable.
//!
//! ```
//! use mackerel_agent_injector::config::Config;
//! use mackerel_agent_injector::engine::inject;
//! use mackerel_agent_injector::options::Options;
//! use mackerel_agent_injector::report::{Class, Reason};
//!
//! let manifest = "\
//! apiVersion: v1
//! kind: Pod
//! metadata:
//!   name: web
//!   annotations: {agent-injector.contrib.mackerel.io/inject: maybe}
//! spec:
//!   containers: [{name: web, image: web}]
//! ";
//! let injection = inject(manifest, &Config::default(), Options::default());
//! let outcome = &injection.outcomes[0];
//! assert_eq!((outcome.identity.kind.as_str(), outcome.identity.name.as_str()), ("Pod", "web"));
//! assert_eq!(outcome.decision.reason, Reason::InvalidAnnotation);
//! assert_eq!(outcome.decision.reason.class(), Class::Refused);
//!
//! let row = injection.rows("web.yaml", manifest).next().unwrap();
//! let line = row.line();
//! assert!(line.starts_with("web.yaml:5:"), "{line}");
//! assert!(line.contains(": error[invalid-annotation]: v1/Pod/web "), "{line}");
//! ```

mod finding;
mod reason;

pub(crate) use finding::BUG;
pub use finding::{Cause, Finding};
pub(crate) use reason::ReasonSet;
pub use reason::{Class, Reason};
