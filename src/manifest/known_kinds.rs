//! The table of known kinds: group, kind, JSON Pointer of the pod template, and whether its pods run to completion.
//!
//! Group and kind both count: a Volcano `Job` is not a batch `Job`, a Knative `Service` is not a core one. The version does
//! not: `extensions/v1beta1` Deployments have their template at the same path as `apps/v1`.
//!
//! A custom kind is known if its CRD keeps the containers and the annotations of the template: the API server prunes what the
//! CRD does not declare, and an agent without its record could not be removed. Each group names the source of its CRDs.

/// Pods that run until they are deleted, unless the template's restart policy says otherwise.
const RUNS: bool = false;
/// Pods that end when their work is done: where the restart policy is absent, their controller sets one that lets them.
const COMPLETES: bool = true;

/// Every known kind with the paths of its templates, from the projects' API types.
pub(crate) const KNOWN_KINDS: &[(&str, &str, &str, bool)] = &[
    ("", "Pod", "", RUNS),
    ("", "PodTemplate", "/template", RUNS),
    ("", "ReplicationController", "/spec/template", RUNS),
    ("apps", "ReplicaSet", "/spec/template", RUNS),
    ("apps", "Deployment", "/spec/template", RUNS),
    ("apps", "StatefulSet", "/spec/template", RUNS),
    ("apps", "DaemonSet", "/spec/template", RUNS),
    // Served until Kubernetes 1.15; old manifests and charts still carry it.
    ("extensions", "ReplicaSet", "/spec/template", RUNS),
    ("extensions", "Deployment", "/spec/template", RUNS),
    ("extensions", "DaemonSet", "/spec/template", RUNS),
    ("batch", "Job", "/spec/template", COMPLETES),
    (
        "batch",
        "CronJob",
        "/spec/jobTemplate/spec/template",
        COMPLETES,
    ),
    (
        "apps.openshift.io",
        "DeploymentConfig",
        "/spec/template",
        RUNS,
    ),
    // OpenShift 3 served it without a group, as `v1`.
    ("", "DeploymentConfig", "/spec/template", RUNS),
    // argoproj/argo-rollouts: manifests/crds
    ("argoproj.io", "Rollout", "/spec/template", RUNS),
    (
        "argoproj.io",
        "Experiment",
        "/spec/templates/*/template",
        RUNS,
    ),
    (
        "argoproj.io",
        "AnalysisTemplate",
        "/spec/metrics/*/provider/job/spec/template",
        COMPLETES,
    ),
    (
        "argoproj.io",
        "ClusterAnalysisTemplate",
        "/spec/metrics/*/provider/job/spec/template",
        COMPLETES,
    ),
    (
        "argoproj.io",
        "AnalysisRun",
        "/spec/metrics/*/provider/job/spec/template",
        COMPLETES,
    ),
    // knative/serving: config/core/300-resources; knative/eventing: config/core/resources
    ("serving.knative.dev", "Service", "/spec/template", RUNS),
    (
        "serving.knative.dev",
        "Configuration",
        "/spec/template",
        RUNS,
    ),
    // A Revision's own spec is the PodSpec: like a Pod, it is its own template.
    ("serving.knative.dev", "Revision", "", RUNS),
    (
        "sources.knative.dev",
        "ContainerSource",
        "/spec/template",
        RUNS,
    ),
    (
        "sinks.knative.dev",
        "JobSink",
        "/spec/job/spec/template",
        COMPLETES,
    ),
    // openkruise/kruise: config/crd/bases
    ("apps.kruise.io", "CloneSet", "/spec/template", RUNS),
    ("apps.kruise.io", "StatefulSet", "/spec/template", RUNS),
    ("apps.kruise.io", "DaemonSet", "/spec/template", RUNS),
    (
        "apps.kruise.io",
        "BroadcastJob",
        "/spec/template",
        COMPLETES,
    ),
    (
        "apps.kruise.io",
        "AdvancedCronJob",
        "/spec/template/jobTemplate/spec/template",
        COMPLETES,
    ),
    (
        "apps.kruise.io",
        "AdvancedCronJob",
        "/spec/template/broadcastJobTemplate/spec/template",
        COMPLETES,
    ),
    (
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/statefulSetTemplate/spec/template",
        RUNS,
    ),
    (
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/advancedStatefulSetTemplate/spec/template",
        RUNS,
    ),
    (
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/cloneSetTemplate/spec/template",
        RUNS,
    ),
    (
        "apps.kruise.io",
        "UnitedDeployment",
        "/spec/template/deploymentTemplate/spec/template",
        RUNS,
    ),
    // kubernetes-sigs/lws and kubernetes-sigs/jobset: config
    (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "/spec/leaderWorkerTemplate/leaderTemplate",
        RUNS,
    ),
    (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        "/spec/leaderWorkerTemplate/workerTemplate",
        RUNS,
    ),
    // Its webhook defaults the restart policy to OnFailure.
    (
        "jobset.x-k8s.io",
        "JobSet",
        "/spec/replicatedJobs/*/template/spec/template",
        COMPLETES,
    ),
    // ray-project/kuberay: ray-operator/config/crd/bases. The submitter is a Job; head and workers are deleted after it.
    ("ray.io", "RayCluster", "/spec/headGroupSpec/template", RUNS),
    (
        "ray.io",
        "RayCluster",
        "/spec/workerGroupSpecs/*/template",
        RUNS,
    ),
    (
        "ray.io",
        "RayJob",
        "/spec/rayClusterSpec/headGroupSpec/template",
        RUNS,
    ),
    (
        "ray.io",
        "RayJob",
        "/spec/rayClusterSpec/workerGroupSpecs/*/template",
        RUNS,
    ),
    ("ray.io", "RayJob", "/spec/submitterPodTemplate", COMPLETES),
    (
        "ray.io",
        "RayCronJob",
        "/spec/jobTemplate/rayClusterSpec/headGroupSpec/template",
        RUNS,
    ),
    (
        "ray.io",
        "RayCronJob",
        "/spec/jobTemplate/rayClusterSpec/workerGroupSpecs/*/template",
        RUNS,
    ),
    (
        "ray.io",
        "RayCronJob",
        "/spec/jobTemplate/submitterPodTemplate",
        COMPLETES,
    ),
    (
        "ray.io",
        "RayService",
        "/spec/rayClusterConfig/headGroupSpec/template",
        RUNS,
    ),
    (
        "ray.io",
        "RayService",
        "/spec/rayClusterConfig/workerGroupSpecs/*/template",
        RUNS,
    ),
    // kedacore/keda: config/crd/bases. Its controller defaults the restart policy to OnFailure.
    (
        "keda.sh",
        "ScaledJob",
        "/spec/jobTargetRef/template",
        COMPLETES,
    ),
    // kubeflow/trainer: manifests/base/crds. The templates become JobSets.
    (
        "trainer.kubeflow.org",
        "ClusterTrainingRuntime",
        "/spec/template/spec/replicatedJobs/*/template/spec/template",
        COMPLETES,
    ),
    (
        "trainer.kubeflow.org",
        "TrainingRuntime",
        "/spec/template/spec/replicatedJobs/*/template/spec/template",
        COMPLETES,
    ),
    // kubeflow/training-operator: manifests/base/crds; kubeflow/mpi-operator: manifests/base. The restart policy stands
    // beside the template, with Never or OnFailure as its default.
    (
        "kubeflow.org",
        "JAXJob",
        "/spec/jaxReplicaSpecs/*/template",
        COMPLETES,
    ),
    (
        "kubeflow.org",
        "MPIJob",
        "/spec/mpiReplicaSpecs/*/template",
        COMPLETES,
    ),
    (
        "kubeflow.org",
        "MXJob",
        "/spec/mxReplicaSpecs/*/template",
        COMPLETES,
    ),
    (
        "kubeflow.org",
        "PaddleJob",
        "/spec/paddleReplicaSpecs/*/template",
        COMPLETES,
    ),
    (
        "kubeflow.org",
        "PyTorchJob",
        "/spec/pytorchReplicaSpecs/*/template",
        COMPLETES,
    ),
    (
        "kubeflow.org",
        "TFJob",
        "/spec/tfReplicaSpecs/*/template",
        COMPLETES,
    ),
    (
        "kubeflow.org",
        "XGBoostJob",
        "/spec/xgbReplicaSpecs/*/template",
        COMPLETES,
    ),
    // volcano-sh/volcano: config/crd. It leaves an absent restart policy to the API server, whose default is Always.
    ("batch.volcano.sh", "Job", "/spec/tasks/*/template", RUNS),
    (
        "batch.volcano.sh",
        "CronJob",
        "/spec/jobTemplate/spec/tasks/*/template",
        RUNS,
    ),
    (
        "flow.volcano.sh",
        "JobTemplate",
        "/spec/tasks/*/template",
        RUNS,
    ),
    // kubeflow/spark-operator: config/crd/bases
    (
        "sparkoperator.k8s.io",
        "SparkApplication",
        "/spec/driver/template",
        COMPLETES,
    ),
    (
        "sparkoperator.k8s.io",
        "SparkApplication",
        "/spec/executor/template",
        COMPLETES,
    ),
    (
        "sparkoperator.k8s.io",
        "ScheduledSparkApplication",
        "/spec/template/driver/template",
        COMPLETES,
    ),
    (
        "sparkoperator.k8s.io",
        "ScheduledSparkApplication",
        "/spec/template/executor/template",
        COMPLETES,
    ),
    // actions/actions-runner-controller: config/crd/bases
    (
        "actions.github.com",
        "AutoscalingRunnerSet",
        "/spec/template",
        COMPLETES,
    ),
    (
        "actions.github.com",
        "AutoscalingRunnerSet",
        "/spec/listenerTemplate",
        RUNS,
    ),
];

/// Groups whose controllers complete the containers of a template, so that one without an image is no patch.
const COMPLETED_BY_CONTROLLER: [&str; 3] = [
    "actions.github.com",
    "sparkoperator.k8s.io",
    "trainer.kubeflow.org",
];

/// Returns true if the controllers of a group complete the containers of a template.
pub(crate) fn may_lack_images(group: &str) -> bool {
    COMPLETED_BY_CONTROLLER.contains(&group)
}

/// Kinds that create pods and hold no whole pod template: they have fields of their own, a bare PodSpec, one `container`, no
/// annotations, or manifests of other kinds.
const NOT_COVERED: &[(&str, &[&str])] = &[
    (
        "argoproj.io",
        &[
            "Workflow",
            "CronWorkflow",
            "WorkflowTemplate",
            "ClusterWorkflowTemplate",
        ],
    ),
    (
        "kafka.strimzi.io",
        &[
            "Kafka",
            "KafkaBridge",
            "KafkaConnect",
            "KafkaMirrorMaker2",
            "KafkaNodePool",
        ],
    ),
    ("kubeflow.org", &["Notebook"]),
    (
        "monitoring.coreos.com",
        &[
            "Alertmanager",
            "Prometheus",
            "PrometheusAgent",
            "ThanosRuler",
        ],
    ),
    ("numaflow.numaproj.io", &["MonoVertex", "Pipeline"]),
    ("operators.coreos.com", &["ClusterServiceVersion"]),
    ("policy.open-cluster-management.io", &["Policy"]),
    (
        "serving.kserve.io",
        &[
            "ClusterServingRuntime",
            "InferenceService",
            "LLMInferenceService",
            "LLMInferenceServiceConfig",
            "ServingRuntime",
        ],
    ),
    (
        "tekton.dev",
        &["Pipeline", "PipelineRun", "Task", "TaskRun"],
    ),
];

/// Returns true for a kind that creates pods and holds no whole pod template.
pub(crate) fn is_not_covered(group: &str, kind: &str) -> bool {
    NOT_COVERED
        .iter()
        .any(|(of, kinds)| *of == group && kinds.contains(&kind))
}

/// Group and kind of every known path.
pub fn built_in_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    KNOWN_KINDS.iter().map(|(group, kind, ..)| (*group, *kind))
}
