//! Pod templates as an independent reader sees them: it shares no code with the injector, and has a table of kinds of its own.

use serde_json::{Map, Value};
use serde_yaml as libyaml;

/// A pod template: kind, then pointer from its resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Template {
    pub kind: String,
    pub pointer: String,
}

/// The documents of a stream: cut where a line begins with `---` or behind one with `...`.
pub fn documents(text: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let word = line
            .split([' ', '\t', '\r', '\n'])
            .next()
            .unwrap_or_default();
        match word {
            "---" => cuts.push(at),
            "..." => cuts.push(at + line.len()),
            _ => {}
        }
        at += line.len();
    }
    cuts.push(text.len());
    cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect()
}

/// Reads a document by libyaml and carries out merge keys. None if libyaml refuses it, or JSON cannot express it.
pub fn read(document: &str) -> Option<Value> {
    let document = document.strip_prefix('\u{feff}').unwrap_or(document);
    let mut value: libyaml::Value = libyaml::from_str(document).ok()?;
    value.apply_merge().ok()?;
    json(value)
}

fn json(value: libyaml::Value) -> Option<Value> {
    Some(match value {
        libyaml::Value::Null => Value::Null,
        libyaml::Value::Bool(value) => Value::Bool(value),
        libyaml::Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64())
        {
            (Some(number), ..) => number.into(),
            (_, Some(number), _) => number.into(),
            (.., number) => serde_json::Number::from_f64(number?)?.into(),
        },
        libyaml::Value::String(text) => Value::String(text),
        libyaml::Value::Sequence(items) => {
            Value::Array(items.into_iter().map(json).collect::<Option<_>>()?)
        }
        libyaml::Value::Mapping(entries) => {
            let entry = |(key, value)| match key {
                libyaml::Value::String(key) => Some((key, json(value)?)),
                libyaml::Value::Number(key) => Some((key.to_string(), json(value)?)),
                libyaml::Value::Bool(key) => Some((key.to_string(), json(value)?)),
                _ => None,
            };
            Value::Object(
                entries
                    .into_iter()
                    .map(entry)
                    .collect::<Option<Map<_, _>>>()?,
            )
        }
        libyaml::Value::Tagged(tagged) => json(tagged.value)?,
    })
}

/// False where the text of a document names no kind that has pod templates, so that it need not be read.
pub fn may_hold_templates(document: &str) -> bool {
    const KINDS: [&str; 46] = [
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "DeploymentConfig",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "Job",
        "CronJob",
        "Rollout",
        "Service",
        "Revision",
        "CloneSet",
        "BroadcastJob",
        "LeaderWorkerSet",
        "JobSet",
        "Experiment",
        "AnalysisTemplate",
        "ClusterAnalysisTemplate",
        "AnalysisRun",
        "Configuration",
        "ContainerSource",
        "JobSink",
        "AdvancedCronJob",
        "UnitedDeployment",
        "RayCluster",
        "RayJob",
        "RayCronJob",
        "RayService",
        "ScaledJob",
        "ClusterTrainingRuntime",
        "TrainingRuntime",
        "JAXJob",
        "MPIJob",
        "MXJob",
        "PaddleJob",
        "PyTorchJob",
        "TFJob",
        "XGBoostJob",
        "JobTemplate",
        "SparkApplication",
        "ScheduledSparkApplication",
        "AutoscalingRunnerSet",
        "List",
        "ResourceList",
    ];
    let is_mark = |letter: char| !letter.is_alphanumeric();
    document.match_indices("kind").any(|(at, kind)| {
        let word = document[at + kind.len()..]
            .trim_start_matches(is_mark)
            .split(is_mark)
            .next();
        word.is_some_and(|word| KINDS.contains(&word) || word.ends_with("List"))
    })
}

/// The pod templates of a document, in its order.
pub fn templates(document: &Value) -> Vec<Template> {
    all(document)
        .into_iter()
        .map(|found| found.template)
        .collect()
}

/// The same with what they say.
pub fn pods(document: &Value) -> Vec<(Template, Value)> {
    all(document)
        .into_iter()
        .map(|found| (found.template, found.pod.clone()))
        .collect()
}

/// The same with whether they are whole, or a patch of one or a part.
pub fn wholes(document: &Value) -> Vec<(Template, Whole)> {
    let whole = |found: &Found<'_>| {
        let lists =
            ["/spec/containers", "/spec/initContainers"].map(|list| found.pod.pointer(list));
        let mut containers = lists
            .into_iter()
            .flatten()
            .filter_map(Value::as_array)
            .flatten();
        let filled_in = || {
            found.is_completed
                || found
                    .resource
                    .pointer("/metadata/annotations/image.openshift.io~1triggers")
                    .is_some()
                || found
                    .resource
                    .to_string()
                    .contains(r#""type":"ImageChange""#)
        };
        let directives = [
            "$patch",
            "$retainKeys",
            "$setElementOrder/",
            "$deleteFromPrimitiveList/",
        ];
        let directed = directives.iter().any(|word| has_key(found.resource, word));
        match containers.all(|container| container.get("image").is_some() || filled_in())
            && !directed
        {
            true => Whole::Whole,
            false => Whole::Patch,
        }
    };
    all(document)
        .into_iter()
        .map(|found| {
            let whole = whole(&found);
            (found.template, whole)
        })
        .collect()
}

/// A whole pod template, or one in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    Whole,
    Patch,
}

fn has_key(value: &Value, beginning: &str) -> bool {
    match value {
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key.starts_with(beginning) || has_key(value, beginning)),
        Value::Array(items) => items.iter().any(|item| has_key(item, beginning)),
        _ => false,
    }
}

fn all(document: &Value) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    resources(document, ("", ""), &mut found);
    found
}

struct Found<'v> {
    template: Template,
    pod: &'v Value,
    resource: &'v Value,
    /// Its controller fills in images.
    is_completed: bool,
}

/// `inherited` is the type of items of a typed list, such as a PodList, that have none.
fn resources<'v>(value: &'v Value, inherited: (&str, &str), found: &mut Vec<Found<'v>>) {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let version = text("apiVersion").unwrap_or(inherited.0);
    let kind = text("kind").unwrap_or(inherited.1);
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    if let Some(of) = kind.strip_suffix("List")
        && let Some(items) = value.get("items").and_then(Value::as_array)
    {
        let typed = !of.is_empty() && of != "Resource";
        let inherited = if typed { (version, of) } else { ("", "") };
        return items
            .iter()
            .for_each(|item| resources(item, inherited, found));
    }
    for pointer in places(group, kind) {
        let mut at = vec![(String::new(), value)];
        for step in pointer.split('/').skip(1) {
            at = at
                .into_iter()
                .flat_map(|(pointer, value)| -> Vec<(String, &Value)> {
                    match (step, value) {
                        ("*", Value::Array(items)) => items
                            .iter()
                            .enumerate()
                            .map(|(index, item)| (format!("{pointer}/{index}"), item))
                            .collect(),
                        ("*", Value::Object(members)) => members
                            .iter()
                            .map(|(name, member)| (format!("{pointer}/{name}"), member))
                            .collect(),
                        _ => value
                            .get(step)
                            .map(|child| (format!("{pointer}/{step}"), child))
                            .into_iter()
                            .collect(),
                    }
                })
                .collect();
        }
        let objects = at.into_iter().filter(|(_, value)| value.is_object());
        found.extend(objects.map(|(pointer, pod)| Found {
            template: Template {
                kind: kind.to_owned(),
                pointer,
            },
            pod,
            resource: value,
            is_completed: matches!(
                group,
                "actions.github.com" | "sparkoperator.k8s.io" | "trainer.kubeflow.org"
            ),
        }));
    }
}

/// The places of the pod templates of a kind, written independently of the injector's table.
fn places(group: &str, kind: &str) -> &'static [&'static str] {
    match (group, kind) {
        ("", "Pod") | ("serving.knative.dev", "Revision") => &[""],
        ("", "PodTemplate") => &["/template"],
        ("", "ReplicationController" | "DeploymentConfig")
        | ("apps.openshift.io", "DeploymentConfig") => &["/spec/template"],
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") => &["/spec/template"],
        ("extensions", "Deployment" | "DaemonSet" | "ReplicaSet") => &["/spec/template"],
        ("batch", "Job") | ("argoproj.io", "Rollout") | ("serving.knative.dev", "Service") => {
            &["/spec/template"]
        }
        ("batch", "CronJob") => &["/spec/jobTemplate/spec/template"],
        ("apps.kruise.io", "CloneSet" | "StatefulSet" | "DaemonSet" | "BroadcastJob") => {
            &["/spec/template"]
        }
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet") => &[
            "/spec/leaderWorkerTemplate/leaderTemplate",
            "/spec/leaderWorkerTemplate/workerTemplate",
        ],
        ("jobset.x-k8s.io", "JobSet") => &["/spec/replicatedJobs/*/template/spec/template"],
        ("argoproj.io", "Experiment") => &["/spec/templates/*/template"],
        ("argoproj.io", "AnalysisTemplate" | "ClusterAnalysisTemplate" | "AnalysisRun") => {
            &["/spec/metrics/*/provider/job/spec/template"]
        }
        ("serving.knative.dev", "Configuration") | ("sources.knative.dev", "ContainerSource") => {
            &["/spec/template"]
        }
        ("sinks.knative.dev", "JobSink") => &["/spec/job/spec/template"],
        ("apps.kruise.io", "AdvancedCronJob") => &[
            "/spec/template/jobTemplate/spec/template",
            "/spec/template/broadcastJobTemplate/spec/template",
        ],
        ("apps.kruise.io", "UnitedDeployment") => &[
            "/spec/template/statefulSetTemplate/spec/template",
            "/spec/template/advancedStatefulSetTemplate/spec/template",
            "/spec/template/cloneSetTemplate/spec/template",
            "/spec/template/deploymentTemplate/spec/template",
        ],
        ("ray.io", "RayCluster") => &[
            "/spec/headGroupSpec/template",
            "/spec/workerGroupSpecs/*/template",
        ],
        ("ray.io", "RayJob") => &[
            "/spec/rayClusterSpec/headGroupSpec/template",
            "/spec/rayClusterSpec/workerGroupSpecs/*/template",
            "/spec/submitterPodTemplate",
        ],
        ("ray.io", "RayCronJob") => &[
            "/spec/jobTemplate/rayClusterSpec/headGroupSpec/template",
            "/spec/jobTemplate/rayClusterSpec/workerGroupSpecs/*/template",
            "/spec/jobTemplate/submitterPodTemplate",
        ],
        ("ray.io", "RayService") => &[
            "/spec/rayClusterConfig/headGroupSpec/template",
            "/spec/rayClusterConfig/workerGroupSpecs/*/template",
        ],
        ("keda.sh", "ScaledJob") => &["/spec/jobTargetRef/template"],
        ("trainer.kubeflow.org", "ClusterTrainingRuntime" | "TrainingRuntime") => {
            &["/spec/template/spec/replicatedJobs/*/template/spec/template"]
        }
        ("kubeflow.org", "JAXJob") => &["/spec/jaxReplicaSpecs/*/template"],
        ("kubeflow.org", "MPIJob") => &["/spec/mpiReplicaSpecs/*/template"],
        ("kubeflow.org", "MXJob") => &["/spec/mxReplicaSpecs/*/template"],
        ("kubeflow.org", "PaddleJob") => &["/spec/paddleReplicaSpecs/*/template"],
        ("kubeflow.org", "PyTorchJob") => &["/spec/pytorchReplicaSpecs/*/template"],
        ("kubeflow.org", "TFJob") => &["/spec/tfReplicaSpecs/*/template"],
        ("kubeflow.org", "XGBoostJob") => &["/spec/xgbReplicaSpecs/*/template"],
        ("batch.volcano.sh", "Job") | ("flow.volcano.sh", "JobTemplate") => {
            &["/spec/tasks/*/template"]
        }
        ("batch.volcano.sh", "CronJob") => &["/spec/jobTemplate/spec/tasks/*/template"],
        ("sparkoperator.k8s.io", "SparkApplication") => {
            &["/spec/driver/template", "/spec/executor/template"]
        }
        ("sparkoperator.k8s.io", "ScheduledSparkApplication") => &[
            "/spec/template/driver/template",
            "/spec/template/executor/template",
        ],
        ("actions.github.com", "AutoscalingRunnerSet") => {
            &["/spec/template", "/spec/listenerTemplate"]
        }
        _ => &[],
    }
}
