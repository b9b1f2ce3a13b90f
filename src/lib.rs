//! Adds the Mackerel container agent to the pod templates of Kubernetes manifests and changes no other byte.
//!
//! This library is for the program of the same name and its tests alone, and is not published: any version may change it. Text goes
//! in, text comes out; only `cli` and `webhook` read a file, a clock or the environment.
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
//! The text is edited by the crate [`yaml_json_patch`], which knows nothing of Mackerel.
//!
//! Offsets and ranges are bytes of the text that was given, from 0; lines and columns count from 1, columns in characters.
//! Pointers are JSON Pointers (RFC 6901).

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

pub mod diff;
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

mod cli;

pub use cli::run;
