//! Adds the Mackerel container agent to the pod templates of Kubernetes manifests and changes no other byte.
//!
//! This is the library behind the program of the same name. Text goes in, text comes out; nothing here reads a file, a clock or
//! the environment.
//!
//! ```
//! use mackerel_agent_injector::config::Config;
//! use mackerel_agent_injector::engine::inject;
//! use mackerel_agent_injector::options::{Direction, Options};
//! use mackerel_agent_injector::report::Reason;
//!
//! let manifest = r#"apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: web}
//! spec:
//!   selector: {matchLabels: {app: web}}
//!   template:
//!     metadata:
//!       labels: {app: web}
//!     spec:
//!       containers:
//!       - name: web   # the app
//!         image: "web:1"
//! "#;
//! let injection = inject(manifest, &Config::default(), Options::default());
//! assert_eq!(injection.outcomes[0].decision.reason, Reason::Injected);
//!
//! let injected = injection.apply(manifest)?;
//! assert_eq!(
//!     injected,
//!     r#"apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: web}
//! spec:
//!   selector: {matchLabels: {app: web}}
//!   template:
//!     metadata:
//!       labels: {app: web}
//!       annotations:
//!         agent-injector.contrib.mackerel.io/status: injected
//!         agent-injector.contrib.mackerel.io/record: v1{"agent":{"list":"containers","plan":"ef5abf5f","value":"4e862bce","names":{"image":"224712f3","secret":"ad864de1"},"volumes":["tmp"]},"created":["annotations","volumes"]}
//!     spec:
//!       containers:
//!       - name: web   # the app
//!         image: "web:1"
//!       - name: mackerel-container-agent
//!         image: mackerel/mackerel-container-agent:v0.13.2-plugins
//!         imagePullPolicy: IfNotPresent
//!         env:
//!         - name: MACKEREL_CONTAINER_PLATFORM
//!           value: kubernetes
//!         - name: MACKEREL_KUBERNETES_KUBELET_HOST
//!           valueFrom:
//!             fieldRef:
//!               fieldPath: status.hostIP
//!         - name: MACKEREL_KUBERNETES_NAMESPACE
//!           valueFrom:
//!             fieldRef:
//!               fieldPath: metadata.namespace
//!         - name: MACKEREL_KUBERNETES_POD_NAME
//!           valueFrom:
//!             fieldRef:
//!               fieldPath: metadata.name
//!         - name: MACKEREL_KUBERNETES_KUBELET_READ_ONLY_PORT
//!           value: "0"
//!         - name: MACKEREL_HOST_ID_STORE
//!           value: file
//!         - name: MACKEREL_IGNORE_CONTAINER
//!           value: ^mackerel-container-agent$
//!         - name: TMPDIR
//!           value: /var/tmp
//!         - name: MACKEREL_APIKEY
//!           valueFrom:
//!             secretKeyRef:
//!               name: mackerel-container-agent
//!               key: MACKEREL_APIKEY
//!         resources:
//!           requests:
//!             cpu: 10m
//!             memory: 64Mi
//!           limits:
//!             memory: 128Mi
//!         securityContext:
//!           allowPrivilegeEscalation: false
//!           capabilities:
//!             drop:
//!             - ALL
//!           readOnlyRootFilesystem: true
//!           runAsNonRoot: true
//!           runAsUser: 65532
//!           seccompProfile:
//!             type: RuntimeDefault
//!         volumeMounts:
//!         - name: mackerel-agent-tmp
//!           mountPath: /var/tmp
//!       volumes:
//!       - name: mackerel-agent-tmp
//!         emptyDir:
//!           medium: Memory
//!           sizeLimit: 64Mi
//! "#
//! );
//!
//! // What was put in can be taken out again, without a trace.
//! let uninjection = inject(&injected, &Config::default(), Options::new(Direction::Uninject));
//! assert_eq!(uninjection.apply(&injected)?, manifest);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is public
//!
//! | module | for |
//! | --- | --- |
//! | [`engine`] | a manifest in, edits and outcomes out |
//! | [`config`], [`annotations`], [`options`] | the settings, those of one template, and what a caller asks for |
//! | [`mod@inject`], [`report`] | the outcome of each pod template: the decision, its reason and its cause |
//! | [`diagnostic`] | errors and warnings, shown with line and caret |
//! | [`admission`] | an AdmissionReview in, the answer out |
//! | [`status`] | the pods of a cluster in, a report on their agents out |
//! | [`manifest`], [`krm_fn`] | documents and lists that need not be read as a whole; function calls |
//! | [`cli`] | the program itself |
//!
//! The text is edited by the crate [`yaml_json_patch`], which knows nothing of Mackerel.
//!
//! Offsets and ranges are bytes of the text that was given, from 0; lines and columns count from 1, columns in characters.
//! Pointers are JSON Pointers (RFC 6901).
//!
//! # Stability
//!
//! Versions follow Semantic Versioning: before 1.0, a minor version may break things, and the changelog says so.
//!
//! - What is listed above is the surface, along with the ids of [`report::Reason`], the words of [`yaml_json_patch::ErrorKind`], and the
//!   configuration's fields. Types that will grow are `#[non_exhaustive]`.
//! - Neither the wording of messages nor the bytes of the injected agent are part of it: a newer version may inject another
//!   one.
//! - Of other crates' types only these are part of it: `serde_json::Value` (1), [`json_patch::Patch`] (4), those of [`yaml_json_patch`], and the
//!   traits of `serde` (1). A new major version of one of them is a breaking change here.
//! - Rust 1.89 or newer; a minor version may ask for a newer one.
//!
//! The types of Kubernetes are used inside, through the crate `k8s-openapi`, of which a program can have but one Kubernetes version.
//! The default feature `k8s-v1_33` chooses it; the other one, `webhook`, is the program's server. A program that chooses one itself
//! depends on this crate with `default-features = false`.

// In order of dependency: a module names only those above it. ARCHITECTURE.md says what each is for.
//
// Facts and data.
pub mod diagnostic;
mod mackerel;
pub mod manifest;
pub mod report;

// Settings.
pub mod config;

pub mod annotations;
pub mod options;

// The agent, the decision about each template, and the difference to the template.
mod agent;
mod decide;
mod reconcile;

// From a text to edits, the checks of other resources, and the permissions.
pub mod inject;

mod checks;
mod explain;
mod rbac;

pub mod engine;

pub mod admission;
mod policy;

// The agents of living pods.
pub mod status;

// The front ends; `webhook` and `cli` alone do I/O.
pub mod krm_fn;
mod post_renderer;

#[cfg(all(unix, feature = "webhook"))]
mod webhook;

pub mod cli;
