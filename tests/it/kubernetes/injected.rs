//! Resources with and without the agent, as Kubernetes reads them.

use crate::kubernetes::cluster::without_identity;
use config::Config;
use injector::{ForeignAgents, HandEdits, Injection, Options, Outcome, inject};
use laws::carries_record;
use report::Class;
use serde_json::{Value, json};
use yaml_json_patch as yaml;
use yaml_json_patch::documents;
use yaml_json_patch::edit;

/// A resource without and with the agent.
#[derive(Debug, Clone)]
pub(crate) struct InjectedPair {
    /// `Deployment/web`.
    pub(crate) name: String,
    /// Without the agent.
    pub(crate) before: Value,
    /// With the agent, in at least one template.
    pub(crate) after: Value,
    /// JSON Pointers of the templates that have the agent.
    pub(crate) templates: Vec<String>,
    /// The resource's document, without and with the agent, unless the resource is an item of a list.
    pub(crate) texts: Option<[String; 2]>,
}

impl InjectedPair {
    /// The templates as Pods, without and with the agent.
    pub(crate) fn pods(&self) -> impl Iterator<Item = (Value, Value)> {
        let pod = |resource: &Value, template: &str| {
            Some(pod(resource, template, resource.pointer(template)?))
        };
        self.templates.iter().filter_map(move |template| {
            Some((pod(&self.before, template)?, pod(&self.after, template)?))
        })
    }
}

/// The resources of a text that have the injected agent under this configuration, each without and with it.
pub(crate) fn pairs(text: &str, config: &Config, options: Options) -> Vec<InjectedPair> {
    let injection = inject(text, config, options);
    let after = edit::apply(text, &injection.edits);
    if options.foreign_agents != ForeignAgents::Respect {
        // Warnings about the adopted container must not excuse warnings about the agent.
        paired(&without_agent(&after, config), &after, config)
    } else if carries_record(text) {
        paired(&without_agent(text, config), &after, config)
    } else if injection.edits.is_empty() {
        Vec::new()
    } else {
        paired_with(text, &injection, &after, config)
    }
}

/// All pod templates of a text as Pods, as they are.
pub(crate) fn templates(text: &str, config: &Config) -> Vec<Value> {
    let injection = inject(text, config, laws::INJECT);
    let resources = resources(text, &injection);
    let outcomes = injection
        .outcomes
        .chunk_by(|one, next| one.offset == next.offset);
    let mut pods = Vec::new();
    for (resource, outcomes) in resources.into_iter().zip(outcomes) {
        let Some((resource, _)) = resource else {
            continue;
        };
        for Outcome { template, .. } in outcomes {
            if let Some(template_value) = resource.pointer(template) {
                pods.push(pod(&resource, template, template_value));
            }
        }
    }
    pods
}

/// The resources that have the agent in the text `after`, each with its state in the text `before`.
pub(crate) fn paired(before: &str, after: &str, config: &Config) -> Vec<InjectedPair> {
    paired_with(before, &inject(before, config, laws::INJECT), after, config)
}

/// The same, where the injection of the first text is known.
fn paired_with(
    before: &str,
    of_before: &Injection,
    after: &str,
    config: &Config,
) -> Vec<InjectedPair> {
    let injection = inject(after, config, laws::INJECT);
    let (before, after) = (resources(before, of_before), resources(after, &injection));
    assert_eq!(before.len(), after.len(), "an injection loses resources");
    let decided = injection
        .outcomes
        .chunk_by(|one, next| one.offset == next.offset);
    let pair = |((before, after), decided): ((Read, Read), &[Outcome])| {
        let (Some((before, text_before)), Some((after, text_after))) = (before, after) else {
            return None;
        };
        // An agent that was edited by hand is not judged.
        let templates = decided
            .iter()
            .filter(|outcome| outcome.decision.reason.class() == Class::Done);
        let templates: Vec<String> = templates
            .map(|outcome| outcome.template.clone())
            .filter(|template| has_agent(after.pointer(template)))
            .collect();
        let identity = &decided.first()?.identity;
        let name = format!("{}/{}", identity.kind, identity.name);
        let texts = text_before
            .zip(text_after)
            .map(|(before, after)| [before, after]);
        (!templates.is_empty()).then_some(InjectedPair {
            name,
            before,
            after,
            templates,
            texts,
        })
    };
    before
        .into_iter()
        .zip(after)
        .zip(decided)
        .filter_map(pair)
        .collect()
}

fn without_agent(text: &str, config: &Config) -> String {
    let mut options = laws::UNINJECT;
    options.hand_edits = HandEdits::Overwrite;
    edit::apply(text, &inject(text, config, options).edits)
}

fn has_agent(template: Option<&Value>) -> bool {
    let record = "/metadata/annotations/agent-injector.contrib.mackerel.io~1record";
    template.is_some_and(|template| template.pointer(record).is_some())
}

/// A resource, and its document if that holds no other one. None where Kubernetes cannot read it.
type Read = Option<(Value, Option<String>)>;

/// The resources that have pod templates.
fn resources(text: &str, injection: &Injection) -> Vec<Read> {
    let documents: Vec<_> = documents(text).map(|document| document.span).collect();
    let resources = injection
        .outcomes
        .chunk_by(|one, next| one.offset == next.offset);
    let read = |outcomes: &[Outcome]| {
        let outcome = outcomes.first()?;
        let span = documents
            .iter()
            .find(|span| span.contains(&outcome.offset))?
            .clone();
        let tree = yaml::read_complete(&text[span.clone()]).ok()?;
        let root = tree.root()?;
        let value = yaml::to_json(&tree, root).ok()?;
        let pointer = laws::pointer_to(&tree, root, outcome.offset - span.start, "")?;
        let mut resource = value.pointer(&pointer)?.clone();
        // The items of a typed list do not say it.
        resource["apiVersion"] = outcome.identity.api_version.clone().into();
        resource["kind"] = outcome.identity.kind.clone().into();
        Some((resource, pointer.is_empty().then(|| text[span].to_owned())))
    };
    resources.map(read).collect()
}

/// A template of a resource as a Pod of its own, under a name that fits wherever it goes.
fn pod(resource: &Value, pointer: &str, template: &Value) -> Value {
    let mut metadata = template
        .get("metadata")
        .filter(|metadata| metadata.is_object())
        .cloned()
        .unwrap_or(json!({}));
    metadata["name"] = "subject".into();
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec")});
    if let Some(policy) = policy_of_controller(resource, pointer, template) {
        pod["spec"]["restartPolicy"] = policy.into();
    }
    // A StatefulSet gives its Pods a volume for each of its claims.
    let claims = resource
        .pointer("/spec/volumeClaimTemplates")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for name in claims.filter_map(|claim| claim["metadata"]["name"].as_str()) {
        let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        match pod.pointer_mut("/spec/volumes") {
            Some(Value::Array(volumes)) => volumes.push(volume),
            _ => pod["spec"]["volumes"] = json!([volume]),
        }
    }
    pod
}

/// The restart policy that a controller gives to the pods of a template: the one beside it, or a default where it has none.
fn policy_of_controller(resource: &Value, pointer: &str, template: &Value) -> Option<&'static str> {
    let holder = pointer
        .rsplit_once('/')
        .and_then(|(holder, _)| resource.pointer(holder));
    match holder.and_then(|holder| holder["restartPolicy"].as_str()) {
        Some("Always") => return Some("Always"),
        Some("Never" | "ExitCode") => return Some("Never"),
        Some("OnFailure") => return Some("OnFailure"),
        _ => {}
    }
    let group = resource["apiVersion"]
        .as_str()
        .and_then(|version| Some(version.rsplit_once('/')?.0));
    let completes = match (
        group.unwrap_or_default(),
        resource["kind"].as_str().unwrap_or_default(),
    ) {
        ("ray.io", _) => pointer.ends_with("/submitterPodTemplate"),
        ("actions.github.com", _) => pointer == "/spec/template",
        ("batch" | "jobset.x-k8s.io" | "keda.sh" | "kubeflow.org" | "trainer.kubeflow.org", _)
        | ("sparkoperator.k8s.io" | "sinks.knative.dev", _)
        | ("apps.kruise.io", "BroadcastJob" | "AdvancedCronJob")
        | ("argoproj.io", "AnalysisTemplate" | "ClusterAnalysisTemplate" | "AnalysisRun")
        | ("example.com", "Import") => true,
        _ => false,
    };
    (completes
        && template
            .pointer("/spec/restartPolicy")
            .is_none_or(Value::is_null))
    .then_some("OnFailure")
}

/// The resource with what Kubernetes demands of its kind and a shortened manifest leaves out: a name, and a selector.
pub(crate) fn completed(resource: &Value, name: &str) -> Value {
    let mut resource = resource.clone();
    let kind = resource["kind"].as_str().unwrap_or_default().to_owned();
    if !resource["metadata"].is_object() {
        resource["metadata"] = json!({});
    }
    resource["metadata"]["name"] = name.into();
    let selects = matches!(
        kind.as_str(),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"
    );
    let template = resource
        .pointer_mut("/spec/template")
        .filter(|_| selects || kind == "ReplicationController");
    let Some(Value::Object(template)) = template else {
        return resource;
    };
    let metadata = template.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = json!({});
    }
    if metadata["labels"].is_null() {
        metadata["labels"] = json!({"app": "subject"});
    }
    let labels = metadata["labels"].clone();
    if selects && resource["spec"]["selector"].is_null() {
        resource["spec"]["selector"] = json!({"matchLabels": labels});
    }
    resource
}

/// A pod without what may differ between two front ends: the order of volumes, and the record's lists that the API server had made
/// before.
pub(crate) fn comparable(pod: &Value) -> String {
    let mut pod = without_identity(pod);
    let record = "/metadata/annotations/agent-injector.contrib.mackerel.io~1record";
    if let Some(Value::String(record)) = pod.pointer_mut(record) {
        *record = laws::without_parents(record);
    }
    // What the LimitRanger did before the webhook, it does not repeat.
    if let Some(Value::Object(annotations)) = pod.pointer_mut("/metadata/annotations") {
        annotations.remove("kubernetes.io/limit-ranger");
    }
    if let Some(Value::Array(volumes)) = pod.pointer_mut("/spec/volumes") {
        volumes.sort_by_key(|volume| volume["name"].as_str().unwrap_or_default().to_owned());
    }
    pod.sort_all_objects();
    format!("{pod:#}")
}

/// A Pod whose own containers comply with "restricted". The agent's container, and the Pod itself, are unchanged.
pub(crate) fn hardened(pod: &Value) -> Value {
    let mut pod = pod.clone();
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let Some(containers) = pod
            .pointer_mut(&format!("/spec/{list}"))
            .and_then(Value::as_array_mut)
        else {
            continue;
        };
        for container in containers
            .iter_mut()
            .filter(|container| !is_injected(container))
        {
            container["securityContext"] = json!({
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "runAsNonRoot": true,
                "seccompProfile": {"type": "RuntimeDefault"},
            });
        }
    }
    pod
}

fn is_injected(container: &Value) -> bool {
    matches!(
        container["name"].as_str(),
        Some("mackerel-container-agent" | "mackerel-wait-for")
    )
}
