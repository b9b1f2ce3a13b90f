//! What was decided and why, as data. Every pod template gets an [`Outcome`] with a [`Reason`], whose id is stable.
//!
//! ```
//! use mackerel_agent_injector::config::Config;
//! use mackerel_agent_injector::diagnostic::Diagnostic;
//! use mackerel_agent_injector::inject::{Options, inject};
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
//! let severity = injection.severity(&outcome.decision);
//! let shown = Diagnostic::of(&outcome.decision, severity, "web.yaml", manifest.as_bytes()).to_string();
//! assert!(shown.starts_with("error[invalid-annotation]: "), "{shown}");
//! assert!(shown.contains("--> web.yaml:5:"), "{shown}");
//! ```

use crate::agent::Agent;
use crate::config::Config;
use crate::needs::Needs;
use crate::parts::Kinds;
use crate::rbac::Bearer;
use crate::wait_for::WaitFor;
use json_patch::Patch;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;

pub use crate::needs::{Need, Source};
pub use crate::rbac::Change;
pub use crate::surroundings::{Presence, Requirement};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, nothing to do.
    Info,
    /// Somebody should look; nothing was held up.
    Warning,
    /// Holds everything back: nothing is to be written.
    Error,
}

impl Severity {
    /// `info`, `warning` or `error`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $class:ident, $sentence:literal;)*) => {
        /// Why something was decided, or is told. Each has a stable id, the same in every report; a newer version may have
        /// more of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Reason { $($(#[$doc])* #[doc = concat!("`", $id, "`: ", $sentence)] $variant,)* }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// The stable id.
            #[must_use]
            pub fn id(self) -> &'static str { match self { $(Reason::$variant => $id,)* } }

            /// What kind of decision the reason stands for.
            #[must_use]
            pub fn class(self) -> Class { match self { $(Reason::$variant => Class::$class,)* } }

            /// One sentence, without a full stop.
            #[must_use]
            pub fn sentence(self) -> &'static str { match self { $(Reason::$variant => $sentence,)* } }
        }
    };
}

/// What became of a pod template, or that it is only a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The agent is in, or was taken out, as wanted.
    Done,
    /// Left alone, nobody asked for more.
    Skipped,
    /// Wanted, but it cannot be done.
    Refused,
    /// Said beside a decision.
    Warning,
    /// Said beside a decision, and no reason to hold anything back.
    Note,
}

reasons! {
    Injected = "injected", Done, "the agent was added";
    Updated = "updated", Done, "the agent was brought up to date";
    Unchanged = "unchanged", Done, "the agent is there and up to date";
    Adopted = "adopted", Done, "an agent that was not ours was taken over";
    Removed = "removed", Done, "the agent was taken out";
    NotInjected = "not-injected", Skipped, "there is nothing of ours to take out";
    NotRequested = "not-requested", Skipped, "injection is `annotated` and the template does not ask";
    OptedOut = "opted-out", Skipped, "the template asks to be left alone";
    Disabled = "disabled", Skipped, "injection is `disabled`";
    NotSelected = "not-selected", Skipped, "the configuration's `select` does not match";
    NamespaceExcluded = "namespace-excluded", Skipped, "the namespace is excluded";
    Hook = "hook", Skipped, "a Helm hook or test";
    HelmTemplate = "helm-template", Skipped, "a template of a Helm chart, not yet a manifest";
    MirrorPod = "mirror-pod", Skipped, "a mirror pod belongs to its kubelet";
    Windows = "windows", Skipped, "the pod is for Windows nodes, where neither the agent nor wait-for runs";
    NoContainers = "no-containers", Skipped, "the template has no containers of its own";
    Patch = "patch", Skipped, "a patch or a part of a pod template, not a whole one";
    KustomizePatch = "kustomize-patch", Skipped, "a kustomization of the input names the file as a patch";
    LocalConfig = "local-config", Skipped, "configuration of a local tool, never applied";
    NativeUnsupported = "native-unsupported", Skipped, "needs a native sidecar, which `kubernetesVersion` does not have";
    AgentPresent = "agent-present", Skipped, "an agent that is not ours is there already";
    Uneditable = "uneditable", Refused, "the text cannot be edited safely";
    InvalidAnnotation = "invalid-annotation", Refused, "an annotation has a value that it cannot have";
    HandEdited = "hand-edited", Refused, "the agent was edited by hand since it was injected";
    ContainerConflict = "container-conflict", Refused, "another container has our name";
    AdoptRefused = "adopt-refused", Refused, "the agent that is there cannot be taken over";
    VolumeConflict = "volume-conflict", Refused, "another volume has our name";
    QosRefused = "qos-refused", Refused, "the pod would no longer be Guaranteed, and `qos` is `refuse`";
    NamespaceRequired = "namespace-required", Refused, "the agent's permissions are to be written, and its pod's namespace is unknown";
    NodesProxyRefused = "nodes-proxy-refused", Refused, "the agent needs `nodes/proxy`, and `rbac.allowNodesProxy` is not set";
    NativeRefused = "native-refused", Refused, "a native sidecar is asked for, which `kubernetesVersion` does not have";
    WaitForImage = "wait-for-image", Refused, "the template asks for wait-for, and `waitFor.image` names no image for it";
    VerifyFailed = "verify-failed", Refused, "the result is not what the patch says, so it was not used";
    MisplacedAnnotation = "misplaced-annotation", Warning, "the annotation stands on the workload instead of its pod template";
    UnknownAnnotation = "unknown-annotation", Warning, "no annotation of ours has this name";
    IdleAnnotation = "idle-annotation", Warning, "an annotation has no effect, since its template does not ask for the agent";
    UnknownKind = "unknown-kind", Warning, "a pod template asks for the agent, in a kind that is not known to hold one there";
    UnknownTemplate = "unknown-template", Note, "what looks like a pod template stands in a kind that is not known to hold one there";
    UnreadableDocument = "unreadable-document", Warning, "a document could not be read and was passed by, since nothing is to be done in it";
    UnreadableFile = "unreadable-file", Warning, "a file could not be read and was passed over";
    NoResources = "no-resources", Warning, "what was named holds no manifest, so nothing was looked at";
    NamespaceUnknown = "namespace-unknown", Warning, "`select` asks for a namespace and the resource names none";
    ControllerOwned = "controller-owned", Warning, "a controller made the resource, and the change will not last";
    NeverCompletes = "never-completes", Warning, "the pod is to complete, but waits for its agent";
    HostNetwork = "host-network", Warning, "the pod is on its node's network, and so is the agent";
    TokenAutomountOff = "token-automount-off", Warning, "the pod turns its ServiceAccount's token off, and the agent gets one of its own";
    SaAutomountOff = "sa-automount-off", Warning, "a ServiceAccount of the input gives its pods no token, and the agent relies on it";
    SaAutomountUnknown = "sa-automount-unknown", Note, "the pod's ServiceAccount may turn its tokens off, and was not looked at";
    PullSecrets = "pull-secrets", Warning, "the pod names no pull secrets, so none were added";
    QosChanged = "qos-changed", Warning, "the pod is no longer Guaranteed";
    ImmutableTemplate = "immutable-template", Warning, "the cluster does not take a changed template for one that is there";
    KnativeFeatures = "knative-features", Note, "Knative takes the pod only with features that are off by default";
    InsecureTls = "insecure-tls", Warning, "the kubelet's certificate is not verified";
    MissingKey = "missing-key", Warning, "a Secret or ConfigMap of the input lacks the key that the agent needs";
    AgentConfigInvalid = "agent-config-invalid", Warning, "the agent would refuse or ignore what its configuration says";
    PlainApiKey = "plain-api-key", Warning, "the API key stands in the manifest for all to read";
    Quota = "quota", Warning, "a ResourceQuota of the input counts what the agent's container does not say";
    ShortTermination = "short-termination", Warning, "the pod ends before its agent can retire the host";
    NodesProxy = "nodes-proxy", Warning, "the agent is permitted `nodes/proxy`, which is more than reading";
    RbacPresent = "rbac-present", Warning, "permissions of the same name are there already and are not ours";
    StillInjected = "still-injected", Warning, "the agent stays in although it is no longer wanted";
    ValueKept = "value-kept", Warning, "a value that somebody changed since was kept";
}

impl Reason {
    /// What a decision does to what it is about, as a participle; none for one that changes nothing.
    #[must_use]
    pub(crate) fn done(self) -> Option<&'static str> {
        match self {
            Reason::Injected => Some("added"),
            Reason::Updated => Some("brought up to date"),
            Reason::Adopted => Some("taken over"),
            Reason::Removed => Some("taken out"),
            _ => None,
        }
    }

    /// About the pod that comes out: not to be said of a template that stays as it is.
    #[must_use]
    pub(crate) fn is_about_change(self) -> bool {
        use Reason::{
            ControllerOwned, HostNetwork, ImmutableTemplate, InsecureTls, KnativeFeatures, NeverCompletes, NodesProxy,
            PullSecrets, QosChanged, ShortTermination, TokenAutomountOff,
        };
        matches!(
            self,
            ControllerOwned
                | NeverCompletes
                | HostNetwork
                | TokenAutomountOff
                | PullSecrets
                | QosChanged
                | ImmutableTemplate
                | ShortTermination
                | InsecureTls
                | KnativeFeatures
                | NodesProxy
        )
    }

    /// The same for every template, so that one of them is enough to say it.
    #[must_use]
    pub(crate) fn is_said_once(self) -> bool {
        use Reason::{InsecureTls, KnativeFeatures, NodesProxy, UnknownTemplate};
        matches!(self, InsecureTls | KnativeFeatures | NodesProxy | UnknownTemplate)
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// Who a resource is, as its text says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Identity {
    /// For example `apps/v1`.
    pub api_version: String,
    /// For example `Deployment`.
    pub kind: String,
    /// As written in the resource; not the configuration's `namespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// `metadata.name`, else `metadata.generateName`, else empty.
    pub name: String,
}

impl Identity {
    /// Its namespace, else the one that the configuration gives to resources that name none.
    #[must_use]
    pub(crate) fn namespace_in<'a>(&'a self, config: &'a Config) -> Option<&'a String> {
        self.namespace.as_ref().or(config.spec.namespace.as_ref())
    }
}

/// One thing to tell: a decision, a refusal or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Why.
    pub reason: Reason,
    /// This case in one sentence, lower case, without a full stop; begins where the reason's own sentence is too general.
    pub message: String,
    /// What to do next, if there is something to do.
    pub help: Option<String>,
    /// Byte offset into the input that the finding points at.
    pub offset: Option<usize>,
    /// JSON Pointer of the field inside the resource, empty when it is the resource as a whole.
    pub pointer: String,
}

impl Finding {
    /// A finding about a field, or the whole, of a resource; without help.
    pub(crate) fn new(reason: Reason, message: impl Into<String>, offset: usize, pointer: &str) -> Self {
        Self { reason, message: message.into(), help: None, offset: Some(offset), pointer: pointer.to_owned() }
    }

    /// A result that failed its own check.
    pub(crate) fn verify_failed(message: impl Into<String>, offset: usize) -> Self {
        let help = "this is a mistake of this program; please report it with the document";
        Self::new(Reason::VerifyFailed, message, offset, "").with_help(help)
    }

    /// False for what is said once and was: of the same reason, and with the same things to do.
    pub(crate) fn is_news(&self, said: &mut Said) -> bool {
        let what = || format!("{}; {}", self.message, self.help.as_deref().unwrap_or_default());
        !self.reason.is_said_once() || said.insert((self.reason, what()))
    }

    /// The same with what to do next.
    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// What was said of a template and is not said again, word for word, of the next.
pub(crate) type Said = HashSet<(Reason, String)>;

/// What made a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A setting, by its dotted path below `spec`, explicit or by default.
    Setting(Cow<'static, str>),
    /// Something that stands in the manifest.
    #[non_exhaustive]
    Manifest {
        /// Byte offset into the input.
        offset: usize,
        /// JSON Pointer of the field inside the resource.
        pointer: String,
    },
    /// A kustomization that names the input as a patch. Only files have one beside them.
    #[non_exhaustive]
    Kustomization {
        /// Where it does: file, line and column.
        place: String,
        /// JSON Pointer of the field inside the kustomization.
        pointer: String,
    },
}

/// Everything about one pod template of one resource.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Whose template.
    pub identity: Identity,
    /// JSON Pointer from the resource to the pod template.
    pub template: String,
    /// Byte offset of the resource in the input.
    pub offset: usize,
    /// The annotations `config.kubernetes.io/path` and `index`, when the resource carries them: the file that an orchestrator
    /// read it from, and which document of it.
    pub file: Option<(String, Option<i64>)>,
    /// What was decided. Its reason's class is neither [`Class::Warning`] nor [`Class::Note`].
    pub decision: Finding,
    /// What made the decision; none where there was nothing to decide.
    pub rule: Option<Rule>,
    /// What the decision speaks of: the agent, the init container that waits, or both; none where nothing changes.
    pub(crate) about: Option<Kinds>,
    /// Warnings and notes beside it; where several things make the template refused, the decision is the first, and the others
    /// stand here.
    pub warnings: Vec<Finding>,
    /// What has to exist for the agent that the template has after the run; none where it has no agent of ours.
    pub(crate) needs: Option<Rc<Needs>>,
    /// That agent, where explanations are asked for.
    pub(crate) agent: Option<Rc<Agent>>,
    /// The init container that waits which the template has after the run, where explanations are asked for.
    pub(crate) wait_for: Option<Waiting>,
    /// The ServiceAccount that the agent relies on for its token, since the pod does not say; none where it needs none of it.
    pub(crate) token_of: Option<String>,
    /// Whose token its agent has; none where it gets no agent, or where nobody asks what agents need (`rbac.generate`,
    /// explanations).
    pub(crate) bearer: Option<Bearer>,
    /// RFC 6902, pointers from the resource's root; empty when nothing changes, or unless
    /// [`Patches::Keep`](crate::inject::Patches::Keep) asks for patches.
    pub patch: Patch,
}

/// An init container that waits, and what asked for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waiting {
    /// It.
    pub(crate) wait_for: Rc<WaitFor>,
    /// The annotation.
    pub(crate) asked: Rule,
}

/// Something about a resource in which no pod template is known.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Remark {
    /// Whose.
    pub identity: Identity,
    /// Byte offset of the resource in the input.
    pub offset: usize,
    /// As of an [`Outcome`].
    pub file: Option<(String, Option<i64>)>,
    /// A warning.
    pub finding: Finding,
}

/// Whose a finding is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'r> {
    /// The resource.
    pub(crate) identity: &'r Identity,
    /// JSON Pointer to its pod template; empty where none is known.
    pub(crate) template: &'r str,
    /// Byte offset of the resource in the input.
    pub(crate) offset: usize,
    /// As of an [`Outcome`].
    pub(crate) file: Option<&'r (String, Option<i64>)>,
}

impl Outcome {
    /// Whose it is.
    #[must_use]
    pub(crate) fn subject(&self) -> Subject<'_> {
        let Self { identity, template, offset, file, .. } = self;
        Subject { identity, template, offset: *offset, file: file.as_ref() }
    }
}

impl Remark {
    /// Whose it is.
    #[must_use]
    pub(crate) fn subject(&self) -> Subject<'_> {
        let Self { identity, offset, file, .. } = self;
        Subject { identity, template: "", offset: *offset, file: file.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;
    use crate::inject::Tense;
    use crate::parts::Kinds;

    #[test]
    fn what_is_done_to_the_agent_is_said_as_the_reason_has_it() {
        for reason in [Reason::Injected, Reason::Updated, Reason::Removed] {
            let said = reason.done().map(|done| Kinds::Agent(()).passive(Tense::Past, done));
            assert_eq!(said.as_deref(), Some(reason.sentence()));
        }
    }
}
