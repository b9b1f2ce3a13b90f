//! The table of known kinds: group, kind, JSON Pointer of the pod template, and whether its pods run to completion.
//!
//! Group and kind both count: a Volcano `Job` is not a batch `Job`, a Knative `Service` is not a core one. The version does
//! not: `extensions/v1beta1` Deployments have their template at the same path as `apps/v1`.
//!
//! A custom kind is known if its CRD keeps the containers and the annotations of the template: the API server prunes what the
//! CRD does not declare, and an agent without its record could not be removed. Each group names the source of its CRDs.

use crate::template_path::PathRest;
use kube_core::GroupVersionKind;

/// A kind with pod templates at a path.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadKind<'c> {
    pub group: &'c str,
    pub kind: &'c str,
    /// The path from the resource to its pod templates.
    pub path: PathRest<'c>,
    /// True if its pods end when their work is done, unless their `restartPolicy` says otherwise: their controller sets one that lets them.
    pub completes: bool,
}

impl WorkloadKind<'_> {
    /// Returns true for a resource of this kind, in any version.
    pub fn matches(&self, gvk: &GroupVersionKind) -> bool {
        gvk.group == self.group && gvk.kind == self.kind
    }
}

const fn runs(
    group: &'static str,
    kind: &'static str,
    path: &'static str,
) -> WorkloadKind<'static> {
    WorkloadKind {
        group,
        kind,
        path: PathRest::BuiltIn(path),
        completes: false,
    }
}

const fn completes(
    group: &'static str,
    kind: &'static str,
    path: &'static str,
) -> WorkloadKind<'static> {
    WorkloadKind {
        completes: true,
        ..runs(group, kind, path)
    }
}

/// Every known kind with the paths of its templates, from the projects' API types.
pub(crate) const KNOWN_KINDS: &[WorkloadKind<'static>] = &[
    runs("", "Pod", ""),
    runs("", "PodTemplate", "/template"),
    runs("", "ReplicationController", "/spec/template"),
    runs("apps", "ReplicaSet", "/spec/template"),
    runs("apps", "Deployment", "/spec/template"),
    runs("apps", "StatefulSet", "/spec/template"),
    runs("apps", "DaemonSet", "/spec/template"),
    // Served until Kubernetes 1.15; old manifests and charts still carry it.
    runs("extensions", "ReplicaSet", "/spec/template"),
    runs("extensions", "Deployment", "/spec/template"),
    runs("extensions", "DaemonSet", "/spec/template"),
    completes("batch", "Job", "/spec/template"),
    completes("batch", "CronJob", "/spec/jobTemplate/spec/template"),
    runs("apps.openshift.io", "DeploymentConfig", "/spec/template"),
    // OpenShift 3 served it without a group, as `v1`.
    runs("", "DeploymentConfig", "/spec/template"),
    // argoproj/argo-rollouts: manifests/crds
    runs("argoproj.io", "Rollout", "/spec/template"),
    runs("argoproj.io", "Experiment", "/spec/templates/*/template"),
    completes(
        "argoproj.io",
        "AnalysisTemplate",
        "/spec/metrics/*/provider/job/spec/template",
    ),
    completes(
        "argoproj.io",
        "ClusterAnalysisTemplate",
        "/spec/metrics/*/provider/job/spec/template",
    ),
    completes(
        "argoproj.io",
        "AnalysisRun",
        "/spec/metrics/*/provider/job/spec/template",
    ),
    // knative/serving: config/core/300-resources, webhook only; knative/eventing: config/core/resources
    runs("serving.knative.dev", "Service", "/spec/template"),
    runs("serving.knative.dev", "Configuration", "/spec/template"),
    // A Revision's own spec is the PodSpec: like a Pod, it is its own template.
    runs("serving.knative.dev", "Revision", ""),
    runs("sources.knative.dev", "ContainerSource", "/spec/template"),
    completes("sinks.knative.dev", "JobSink", "/spec/job/spec/template"),
    // openkruise/kruise: config/crd/bases
    runs("apps.kruise.io", "CloneSet", "/spec/template"),
    runs("apps.kruise.io", "StatefulSet", "/spec/template"),
    runs("apps.kruise.io", "DaemonSet", "/spec/template"),
    completes("apps.kruise.io", "BroadcastJob", "/spec/template"),
    completes(
        "apps.kruise.io",
        "AdvancedCronJob",
        "/spec/template/jobTemplate/spec/template",
    ),
    completes(
        "apps.kruise.io",
        "AdvancedCronJob",
        "/spec/template/broadcastJobTemplate/spec/template",
    ),
    runs(
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/statefulSetTemplate/spec/template",
    ),
    runs(
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/advancedStatefulSetTemplate/spec/template",
    ),
    runs(
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/cloneSetTemplate/spec/template",
    ),
    runs(
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/deploymentTemplate/spec/template",
    ),
    // kubernetes-sigs/lws and kubernetes-sigs/jobset: config
    runs(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "/spec/leaderWorkerTemplate/leaderTemplate",
    ),
    runs(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "/spec/leaderWorkerTemplate/workerTemplate",
    ),
    // Its webhook defaults the restart policy to OnFailure.
    completes(
        "jobset.x-k8s.io",
        "JobSet",
        "/spec/replicatedJobs/*/template/spec/template",
    ),
    // ray-project/kuberay: ray-operator/config/crd/bases. The submitter is a Job; head and workers are deleted after it.
    runs("ray.io", "RayCluster", "/spec/headGroupSpec/template"),
    runs("ray.io", "RayCluster", "/spec/workerGroupSpecs/*/template"),
    runs(
        "ray.io",
        "RayJob",
        "/spec/rayClusterSpec/headGroupSpec/template",
    ),
    runs(
        "ray.io",
        "RayJob",
        "/spec/rayClusterSpec/workerGroupSpecs/*/template",
    ),
    completes("ray.io", "RayJob", "/spec/submitterPodTemplate"),
    runs(
        "ray.io",
        "RayCronJob",
        "/spec/jobTemplate/rayClusterSpec/headGroupSpec/template",
    ),
    runs(
        "ray.io",
        "RayCronJob",
        "/spec/jobTemplate/rayClusterSpec/workerGroupSpecs/*/template",
    ),
    completes(
        "ray.io",
        "RayCronJob",
        "/spec/jobTemplate/submitterPodTemplate",
    ),
    runs(
        "ray.io",
        "RayService",
        "/spec/rayClusterConfig/headGroupSpec/template",
    ),
    runs(
        "ray.io",
        "RayService",
        "/spec/rayClusterConfig/workerGroupSpecs/*/template",
    ),
    // kedacore/keda: config/crd/bases. Its controller defaults the restart policy to OnFailure.
    completes("keda.sh", "ScaledJob", "/spec/jobTargetRef/template"),
    // kubeflow/trainer: manifests/base/crds. The templates become JobSets.
    completes(
        "trainer.kubeflow.org",
        "ClusterTrainingRuntime",
        "/spec/template/spec/replicatedJobs/*/template/spec/template",
    ),
    completes(
        "trainer.kubeflow.org",
        "TrainingRuntime",
        "/spec/template/spec/replicatedJobs/*/template/spec/template",
    ),
    // kubeflow/training-operator: manifests/base/crds; kubeflow/mpi-operator: manifests/base. The restart policy stands
    // beside the template, with Never or OnFailure as its default.
    completes("kubeflow.org", "JAXJob", "/spec/jaxReplicaSpecs/*/template"),
    completes("kubeflow.org", "MPIJob", "/spec/mpiReplicaSpecs/*/template"),
    completes("kubeflow.org", "MXJob", "/spec/mxReplicaSpecs/*/template"),
    completes(
        "kubeflow.org",
        "PaddleJob",
        "/spec/paddleReplicaSpecs/*/template",
    ),
    completes(
        "kubeflow.org",
        "PyTorchJob",
        "/spec/pytorchReplicaSpecs/*/template",
    ),
    completes("kubeflow.org", "TFJob", "/spec/tfReplicaSpecs/*/template"),
    completes(
        "kubeflow.org",
        "XGBoostJob",
        "/spec/xgbReplicaSpecs/*/template",
    ),
    // volcano-sh/volcano: config/crd. It leaves an absent restart policy to the API server, whose default is Always.
    runs("batch.volcano.sh", "Job", "/spec/tasks/*/template"),
    runs(
        "batch.volcano.sh",
        "CronJob",
        "/spec/jobTemplate/spec/tasks/*/template",
    ),
    runs("flow.volcano.sh", "JobTemplate", "/spec/tasks/*/template"),
    // kubeflow/spark-operator: config/crd/bases
    completes(
        "sparkoperator.k8s.io",
        "SparkApplication",
        "/spec/driver/template",
    ),
    completes(
        "sparkoperator.k8s.io",
        "SparkApplication",
        "/spec/executor/template",
    ),
    completes(
        "sparkoperator.k8s.io",
        "ScheduledSparkApplication",
        "/spec/template/driver/template",
    ),
    completes(
        "sparkoperator.k8s.io",
        "ScheduledSparkApplication",
        "/spec/template/executor/template",
    ),
    // actions/actions-runner-controller: config/crd/bases
    completes(
        "actions.github.com",
        "AutoscalingRunnerSet",
        "/spec/template",
    ),
    runs(
        "actions.github.com",
        "AutoscalingRunnerSet",
        "/spec/listenerTemplate",
    ),
];

/// Returns true if the controllers of a group complete the containers of a template, so that one without an image is no patch.
pub fn may_lack_images(group: &str) -> bool {
    matches!(
        group,
        "actions.github.com" | "sparkoperator.k8s.io" | "trainer.kubeflow.org"
    )
}

/// Returns true if the controllers of a group refuse the agent in a template by default: the pods get it from the webhook or a policy.
/// Knative Serving takes no `fieldRef`, no init container, and no second container if none has `ports`.
pub fn is_webhook_only(group: &str) -> bool {
    group == "serving.knative.dev"
}

/// A reason why a kind without pod templates leads to pods without an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// A controller creates pods that only the webhook sees.
    WebhookOnly,
    /// A controller renders manifests that are not in the input.
    RenderedElsewhere,
    /// `oc process` renders its manifests.
    Template,
}

impl Gap {
    /// Returns the gap that a kind leaves, if any.
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            ("argoproj.io", "Application" | "ApplicationSet")
            | ("helm.toolkit.fluxcd.io", "HelmRelease")
            | ("kustomize.toolkit.fluxcd.io", "Kustomization") => Some(Gap::RenderedElsewhere),
            ("template.openshift.io", "Template") => Some(Gap::Template),
            _ => is_for_webhook(group, kind).then_some(Gap::WebhookOnly),
        }
    }
}

/// Returns true for kinds without a pod template whose controllers copy their annotations to the pods, where the webhook reads them.
pub fn passes_annotations_on(gvk: &GroupVersionKind) -> bool {
    matches!(
        (&*gvk.group, &*gvk.kind),
        ("kubeflow.org", "Notebook") | ("serving.kserve.io" | "tekton.dev", _)
    )
}

/// Returns true for a kind that creates pods and holds no whole pod template: it has fields of its own, a bare PodSpec, one
/// `container`, no annotations, or manifests of other kinds.
fn is_for_webhook(group: &str, kind: &str) -> bool {
    match group {
        "argoproj.io" => matches!(
            kind,
            "Workflow" | "CronWorkflow" | "WorkflowTemplate" | "ClusterWorkflowTemplate"
        ),
        "kafka.strimzi.io" => matches!(
            kind,
            "Kafka" | "KafkaBridge" | "KafkaConnect" | "KafkaMirrorMaker2" | "KafkaNodePool"
        ),
        "kubeflow.org" => matches!(kind, "Notebook"),
        "monitoring.coreos.com" => matches!(
            kind,
            "Alertmanager" | "Prometheus" | "PrometheusAgent" | "ThanosRuler"
        ),
        "numaflow.numaproj.io" => matches!(kind, "MonoVertex" | "Pipeline"),
        "operators.coreos.com" => matches!(kind, "ClusterServiceVersion"),
        "policy.open-cluster-management.io" => matches!(kind, "Policy"),
        "serving.kserve.io" => matches!(
            kind,
            "ClusterServingRuntime"
                | "InferenceService"
                | "LLMInferenceService"
                | "LLMInferenceServiceConfig"
                | "ServingRuntime"
        ),
        "tekton.dev" => matches!(kind, "Pipeline" | "PipelineRun" | "Task" | "TaskRun"),
        _ => false,
    }
}

/// Returns group and kind of every known path.
pub fn built_in_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KNOWN_KINDS.iter().map(|known| (known.group, known.kind))
}
