//! Reasons: the closed list of ids, each with its class and sentence.

use serde::Serialize;

macro_rules! reasons {
    (@ of change) => { true };
    (@) => { false };
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $class:ident $(of $change:ident)?, $sentence:literal;)*) => {
        /// The reason of a decision or warning. Its id is stable and the same in every report; newer versions may add some.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum Reason { $($(#[$doc])* #[doc = concat!("`", $id, "`: ", $sentence)] #[serde(rename = $id)] $variant,)* }

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

            /// Returns true for a warning about the resulting pod (`of change` below), which is not reported if the template stays unchanged.
            pub fn is_about_change(self) -> bool { match self { $(Reason::$variant => reasons!(@ $(of $change)?),)* } }
        }
    };
}

/// The class of a decision, or that of a warning beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The agent is present or was removed, as requested.
    Done,
    /// The template is not changed, as requested.
    Skipped,
    /// The agent is requested but cannot be injected, updated or removed.
    Refused,
    /// A warning beside a decision.
    Warning,
    /// An info message beside a decision, which `--strict` ignores.
    Note,
}

reasons! {
    Injected = "injected", Done, "the agent was added";
    Updated = "updated", Done, "the agent was updated";
    Unchanged = "unchanged", Done, "the agent is up to date";
    Adopted = "adopted", Done, "an agent that this tool did not inject was adopted";
    Removed = "removed", Done, "the agent was removed";
    NotInjected = "not-injected", Skipped, "there is no injected agent to remove";
    NotRequested = "not-requested", Skipped, "`injection` is `annotated`, and the template does not request injection";
    OptedOut = "opted-out", Skipped, "the template opts out of injection";
    Disabled = "disabled", Skipped, "`injection` is `disabled`";
    NotSelected = "not-selected", Skipped, "`select` in the configuration does not match the template";
    NamespaceExcluded = "namespace-excluded", Skipped, "the namespace is excluded";
    Hook = "hook", Skipped, "a hook of Helm or Argo CD, or a chart test";
    HelmTemplate = "helm-template", Skipped, "a template of a Helm chart, not a manifest";
    MirrorPod = "mirror-pod", Skipped, "a mirror pod, which only its kubelet can change";
    Windows = "windows", Skipped, "the pod is for Windows nodes, which neither the agent nor wait-for supports";
    NoContainers = "no-containers", Skipped, "the template has no containers";
    WebhookOnly = "webhook-only", Skipped, "its controller refuses the agent in a manifest; the webhook or the policy adds it to the pods";
    Patch = "patch", Skipped, "a patch or a partial pod template";
    KustomizePatch = "kustomize-patch", Skipped, "a kustomization uses the file as a patch";
    LocalConfig = "local-config", Skipped, "configuration of a local tool, which is never applied";
    NativeUnsupported = "native-unsupported", Skipped, "the pod needs a native sidecar, which `kubernetesVersion` does not support";
    AgentPresent = "agent-present", Skipped, "the template already has an agent that this tool did not inject";
    Sealed = "sealed", Refused, "the document is encrypted by SOPS, which does not decrypt it after a change";
    Uneditable = "uneditable", Refused, "the text cannot be edited safely";
    InvalidAnnotation = "invalid-annotation", Refused, "an annotation has an invalid value";
    HandEdited = "hand-edited", Refused, "the agent was modified after injection";
    ContainerConflict = "container-conflict", Refused, "another container has the name of the injected one";
    AdoptRefused = "adopt-refused", Refused, "the existing agent cannot be adopted";
    VolumeConflict = "volume-conflict", Refused, "a volume or mount conflicts with an injected one";
    QosRefused = "qos-refused", Refused, "the agent would change the QoS class of the pod, and `qos` is `refuse`";
    NamespaceRequired = "namespace-required", Refused, "the permissions of the agent cannot be printed because the namespace of the pod is unknown";
    NativeRefused = "native-refused", Refused, "a native sidecar is requested, which `kubernetesVersion` does not support";
    WaitForImage = "wait-for-image", Refused, "the template requests wait-for, and `waitFor.image` is not set";
    VerifyFailed = "verify-failed", Refused, "the edited text does not match the patch, so it was discarded";
    Error = "error", Refused, "the run failed";
    MisplacedAnnotation = "misplaced-annotation", Warning, "the annotation is not set on a pod template";
    UnknownAnnotation = "unknown-annotation", Warning, "the annotation is unknown";
    AnnotationNotAllowed = "annotation-not-allowed", Warning, "the configuration does not allow the annotation";
    IdleAnnotation = "idle-annotation", Warning, "an annotation has no effect because its template does not request injection";
    UnknownKind = "unknown-kind", Warning, "a pod template of an unknown kind requests injection";
    UnknownTemplate = "unknown-template", Note, "an unknown kind seems to have a pod template";
    UnreadableDocument = "unreadable-document", Warning, "a document that cannot be read was skipped; it does not request injection";
    UnreadableFile = "unreadable-file", Warning, "a file cannot be read";
    NoResources = "no-resources", Warning, "the input has no resources";
    NothingSelected = "nothing-selected", Warning, "the namespaces of `select` match no pod template of the input, which has a similar namespace";
    ConfigurationUnused = "configuration-unused", Warning, "a configuration was found and is not used";
    NamespaceUnknown = "namespace-unknown", Warning, "`select` needs a namespace, and the resource has none";
    ControllerOwned = "controller-owned", Warning of change, "a controller owns the resource and will revert the change";
    NeverCompletes = "never-completes", Warning of change, "the pod runs to completion, but its agent prevents that";
    HostNetwork = "host-network", Warning of change, "the pod uses the host network, and so does the agent";
    TokenAutomountOff = "token-automount-off", Note of change, "the pod disables the token of its ServiceAccount, and the agent gets a separate token";
    SaAutomountOff = "sa-automount-off", Warning, "a ServiceAccount in the input disables the token that the agent needs";
    SaAutomountUnknown = "sa-automount-unknown", Note, "the ServiceAccount of the pod is not in the input and may disable its token";
    VolumeMissing = "volume-missing", Warning of change, "the pod lacks, or has as a block device, a volume that the configuration mounts into the agent";
    VolumeUnused = "volume-unused", Warning of change, "nothing mounts a volume that the configuration adds";
    RolesMissing = "roles-missing", Warning of change, "no role of the configuration is left: the pod lacks a label, or Mackerel does not take a value";
    LabelMissing = "label-missing", Warning of change, "the host's display name or memo has a gap, because the pod lacks a label";
    PullSecrets = "pull-secrets", Warning of change, "the pod has no pull secrets, so none were added";
    QosChanged = "qos-changed", Warning of change, "the QoS class of the pod changes from Guaranteed to Burstable";
    PodResources = "pod-resources", Note of change, "the pod has requests or limits of its own, so the configuration's were not added";
    ImmutableTemplate = "immutable-template", Warning of change, "the pod template of an existing object cannot be changed";
    InsecureTls = "insecure-tls", Warning of change, "the agent does not verify the certificate of the kubelet";
    MissingKey = "missing-key", Warning, "a Secret or ConfigMap in the input lacks the key that the agent needs";
    ApiKeyUnusable = "api-key-unusable", Warning, "the API key in a Secret of the input is none that the agent can send";
    AgentConfigInvalid = "agent-config-invalid", Warning, "the agent rejects or ignores a part of its configuration file";
    PlainApiKey = "plain-api-key", Warning, "the API key is in the manifest as plain text";
    ShareProcessNamespace = "share-process-namespace", Warning of change, "other containers of the pod can read the API key of the agent";
    ShortTermination = "short-termination", Warning of change, "the pod may be killed before its agent retires the host";
    NodesProxy = "nodes-proxy", Warning, "the agent needs `nodes/proxy`, which permits more than reading";
    InvalidName = "invalid-name", Warning, "the namespace or ServiceAccount of the pod has no valid name";
    StillInjected = "still-injected", Warning, "an injected agent was neither updated nor removed";
    RecordLost = "record-lost", Warning, "an injected agent has lost its `record` annotation";
    AgentsRemoved = "agents-removed", Warning, "a function or post-renderer removes agents from its input";
    RenderedElsewhere = "rendered-elsewhere", Warning, "kustomize takes the workloads of a directory from outside of the input";
    KustomizeAnnotation = "kustomize-annotation", Warning, "a kustomization sets an annotation of this tool after injection";
    AdoptLosesSettings = "adopt-loses-settings", Warning, "settings of an adopted agent are lost because no annotation keeps them";
    ValueKept = "value-kept", Warning, "a value that was changed after injection was kept";
}

impl Reason {
    /// Returns the participle of a decision; `None` if it changes nothing.
    pub fn done(self) -> Option<&'static str> {
        match self {
            Reason::Injected => Some("added"),
            Reason::Updated => Some("updated"),
            Reason::Adopted => Some("adopted"),
            Reason::Removed => Some("removed"),
            _ => None,
        }
    }

    /// Returns true for a warning that may be right for a workload for as long as it lives.
    pub fn may_last(self) -> bool {
        matches!(
            self,
            Reason::ControllerOwned
                | Reason::HostNetwork
                | Reason::ImmutableTemplate
                | Reason::InsecureTls
                | Reason::NodesProxy
                | Reason::PullSecrets
                | Reason::QosChanged
                | Reason::RenderedElsewhere
                | Reason::ShareProcessNamespace
                | Reason::ShortTermination
                | Reason::ValueKept
        )
    }

    /// Returns true for a warning or note that users may acknowledge. They may not for an agent that was not removed, or for settings
    /// that are lost.
    pub fn may_be_ignored(self) -> bool {
        matches!(self.class(), Class::Warning | Class::Note)
            && !matches!(self, Reason::StillInjected | Reason::AdoptLosesSettings)
    }
}

/// A problem as tools of code review show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// `agent-missing`, or the reason's id.
    pub id: &'static str,
    /// One sentence, without a full stop.
    pub sentence: &'static str,
}

impl Reason {
    /// Returns the problem that a reviewer sees. That of a change is the state before it.
    pub fn problem(self) -> Problem {
        let (id, sentence) = match self {
            Reason::Injected => ("agent-missing", "the agent is missing"),
            Reason::Updated => ("agent-outdated", "the agent is out of date"),
            Reason::Adopted => (
                "agent-not-adopted",
                "an agent that this tool did not inject is not adopted",
            ),
            Reason::Removed => ("agent-not-wanted", "the agent is present, but not wanted"),
            other => (other.id(), other.sentence()),
        };
        Problem { id, sentence }
    }

    /// Returns true for a finding that a reviewer sees: a change that `inject` would make, a refusal, a warning or a note.
    pub fn is_for_review(self) -> bool {
        self.done().is_some() || !matches!(self.class(), Class::Done | Class::Skipped)
    }
}

/// A set of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReasonSet(u128);

const _: () = assert!(
    Reason::ALL.len() <= 128,
    "a ReasonSet has one bit for each reason"
);

impl ReasonSet {
    pub fn contains(self, reason: Reason) -> bool {
        self.0 & (1 << reason as u32) != 0
    }
}

impl FromIterator<Reason> for ReasonSet {
    fn from_iter<T: IntoIterator<Item = Reason>>(reasons: T) -> Self {
        let mut set = Self::default();
        for reason in reasons {
            set.0 |= 1 << reason as u32;
        }
        set
    }
}
