//! Reasons: the closed list of ids, each with its class and sentence.

use serde::Serialize;

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
