//! One text or several in, edits and outcomes out. Every front end calls it.
//!
//! ```
//! use config::Config;
//! use injector::{Direction, Options, inject};
//! use report::Reason;
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

use crate::checks::{self, ProcessedText};
use crate::inject::{Injection, Input, SharedWork, inject_templates};
use crate::options::{Direction, Options};
use config::Config;
use manifest::Cut;

/// Injects one text: a stream of YAML documents, JSON, a `List`, or a ResourceList. It is not written anywhere:
/// [`Injection::apply`] returns the new text, [`Injection::outcomes`] the decisions with their causes.
#[must_use]
pub fn inject(text: &str, config: &Config, options: Options) -> Injection {
    inject_list(text, None, config, options)
}

/// Injects one text. `cut` are the pieces of the list that it is, if they are known.
pub fn inject_list(text: &str, cut: Option<&Cut>, config: &Config, options: Options) -> Injection {
    let patch = None;
    let input = Input { text, patch, cut };
    let mut injection = inject_templates(input, config, options, &mut SharedWork::default());
    if options.direction == Direction::Inject {
        let processed = ProcessedText {
            name: "",
            text,
            injection: &injection,
        };
        let around = checks::check_inputs(&[processed], config);
        injection.requirements = around.requirements;
        injection
            .remarks
            .extend(around.remarks.into_iter().map(|(_, remark)| remark));
    }
    injection
}
