//! Reasons: the closed list of ids, each with its class and sentence.

use serde::Serialize;

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $class:ident, $sentence:literal;)*) => {
        /// The reason of a decision or warning. Its id is stable and the same in every report; newer versions may add some.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Reason { $($(#[$doc])* #[doc = concat!("`", $id, "`: ", $sentence)] $variant,)* }

        impl Reason {
            /// Every reason, in the order of the documentation.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// Returns the stable id.
            #[must_use]
            pub fn id(self) -> &'static str { match self { $(Reason::$variant => $id,)* } }

            /// Returns the class of the decision.
            #[must_use]
            pub fn class(self) -> Class { match self { $(Reason::$variant => Class::$class,)* } }

            /// Returns one sentence, without a full stop.
            #[must_use]
            pub fn sentence(self) -> &'static str { match self { $(Reason::$variant => $sentence,)* } }
        }
    };
}

/// The class of a decision, or that of a warning beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The agent is there, or was removed, as wanted.
    Done,
    /// The template is left alone, as wanted.
    Skipped,
    /// The agent is wanted but cannot be injected.
    Refused,
    /// A warning beside a decision.
    Warning,
    /// A note beside a decision, which `--strict` ignores.
    Note,
}

reasons! {
    Injected = "injected", Done, "the agent was added";
    Updated = "updated", Done, "the agent was brought up to date";
    Unchanged = "unchanged", Done, "the agent is there and up to date";
    Adopted = "adopted", Done, "an agent of another origin was taken over";
    Removed = "removed", Done, "the agent was taken out";
    NotInjected = "not-injected", Skipped, "there is no injected agent to remove";
    NotRequested = "not-requested", Skipped, "injection is `annotated` and the template does not ask";
    OptedOut = "opted-out", Skipped, "the template asks to be left alone";
    Disabled = "disabled", Skipped, "injection is `disabled`";
    NotSelected = "not-selected", Skipped, "the configuration's `select` does not match";
    NamespaceExcluded = "namespace-excluded", Skipped, "the namespace is excluded";
    Hook = "hook", Skipped, "a hook of Helm or Argo CD, or a chart test";
    HelmTemplate = "helm-template", Skipped, "a template of a Helm chart, not yet a manifest";
    MirrorPod = "mirror-pod", Skipped, "a mirror pod belongs to its kubelet";
    Windows = "windows", Skipped, "the pod is for Windows nodes, where neither the agent nor wait-for runs";
    NoContainers = "no-containers", Skipped, "the template has no containers of its own";
    Patch = "patch", Skipped, "a patch or a part of a pod template, not a whole one";
    KustomizePatch = "kustomize-patch", Skipped, "a kustomization of the input names the file as a patch";
    LocalConfig = "local-config", Skipped, "configuration of a local tool, never applied";
    NativeUnsupported = "native-unsupported", Skipped, "needs a native sidecar, which `kubernetesVersion` does not have";
    AgentPresent = "agent-present", Skipped, "an agent of another origin is already there";
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
    UnknownAnnotation = "unknown-annotation", Warning, "the injector has no annotation of this name";
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
    RbacPresent = "rbac-present", Warning, "permissions of another origin already have the same name";
    StillInjected = "still-injected", Warning, "the agent stays in although it is no longer wanted";
    ValueKept = "value-kept", Warning, "a value that was changed since the injection was kept";
}

impl Reason {
    /// Returns the participle of a decision; `None` if it changes nothing.
    pub(crate) fn done(self) -> Option<&'static str> {
        match self {
            Reason::Injected => Some("added"),
            Reason::Updated => Some("brought up to date"),
            Reason::Adopted => Some("taken over"),
            Reason::Removed => Some("taken out"),
            _ => None,
        }
    }

    /// Returns true for a warning about the resulting pod, which is not reported if the template stays unchanged.
    pub(crate) fn is_about_change(self) -> bool {
        matches!(
            self,
            Reason::ControllerOwned
                | Reason::NeverCompletes
                | Reason::HostNetwork
                | Reason::TokenAutomountOff
                | Reason::PullSecrets
                | Reason::QosChanged
                | Reason::ImmutableTemplate
                | Reason::ShortTermination
                | Reason::InsecureTls
                | Reason::KnativeFeatures
                | Reason::NodesProxy
        )
    }

    /// Returns true for a warning that is reported once per run, since it is the same for every template.
    pub(crate) fn is_said_once(self) -> bool {
        matches!(self, Reason::InsecureTls | Reason::KnativeFeatures | Reason::NodesProxy)
    }
}

impl Reason {
    /// Returns true for a warning that users may acknowledge. What stays injected against their will is none of these.
    pub(crate) fn may_be_ignored(self) -> bool {
        self.class() == Class::Warning && self != Reason::StillInjected
    }
}

/// A set of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReasonSet(u128);

const _: () = assert!(Reason::ALL.len() <= 128, "a ReasonSet has one bit for each reason");

impl ReasonSet {
    pub(crate) fn contains(self, reason: Reason) -> bool {
        self.0 & (1 << reason as u32) != 0
    }
}

impl FromIterator<Reason> for ReasonSet {
    fn from_iter<T: IntoIterator<Item = Reason>>(reasons: T) -> Self {
        Self(reasons.into_iter().fold(0, |set, reason| set | (1 << reason as u32)))
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
