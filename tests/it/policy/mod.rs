//! The policies that `policy` prints, as text and in a real API server.

mod beside;
mod configurations;
mod equal;
mod hostile;
mod printed;
mod tally;

use crate::kubernetes::cluster::{ApiVerdict, Cluster, Run, cluster};
use crate::program::Folder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

const PREFIX: &str = "agent-injector.contrib.mackerel.io/";

/// The settings of a configuration: its file and what `--set` adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Settings {
    file: Option<String>,
    sets: Vec<String>,
}

impl Settings {
    fn of_sets(sets: &[&str]) -> Self {
        Self {
            file: None,
            sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        }
    }

    /// Runs `policy` for the pods of a namespace. The policies have this name.
    ///
    /// # Errors
    /// Standard error, if the configuration has no policy.
    fn print(&self, name: &str, namespace: &str) -> Result<Vec<Value>, String> {
        let folder = Folder::with(&[]);
        let mut arguments = vec!["policy".to_owned()];
        if let Some(file) = &self.file {
            folder.write("config.yaml", file);
            arguments.push("--config=config.yaml".to_owned());
        }
        arguments.extend(self.sets.iter().map(|set| format!("--set={set}")));
        arguments.push(format!("--name={name}"));
        arguments.push(format!("--namespace-selector=policy={namespace}"));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = folder.run(&arguments);
        match ran.code {
            Some(0) => Ok(documents(&ran.stdout)),
            Some(2) if ran.stdout.is_empty() => Err(ran.stderr),
            _ => panic!("{self:?}: {ran:?}"),
        }
    }
}

/// The documents of a printed file.
fn documents(text: &str) -> Vec<Value> {
    yaml_json_patch::documents(text)
        .map(|document| serde_yaml::from_str(&text[document.span]).unwrap())
        .filter(|document: &Value| !document.is_null())
        .collect()
}

/// The policies of a configuration, applied for the pods of a namespace of their own until they are dropped.
struct Policy {
    cluster: &'static Cluster,
    namespace: String,
    documents: Vec<Value>,
}

impl Policy {
    /// Prints and applies the policies. None, with a line on standard error, if a program is missing.
    fn apply(name: &str, settings: &Settings) -> Option<Self> {
        let policy = Self::of_documents(name, settings.print(name, name).unwrap())?;
        policy.wait();
        Some(policy)
    }

    /// Applies these policies.
    fn of_documents(name: &str, documents: Vec<Value>) -> Option<Self> {
        let cluster = cluster()?;
        let policy = Self {
            cluster,
            namespace: name.to_owned(),
            documents,
        };
        cluster.namespace(name, &json!({"policy": name}));
        for document in &policy.documents {
            cluster.apply(document);
        }
        Some(policy)
    }

    /// Applies the policies of several configurations, each for a namespace of its own, and waits for all of them together.
    /// Configurations of the same policies share them. In the place of a configuration without a policy is standard error.
    fn apply_all(name: &str, all: &[Settings]) -> Option<Vec<Result<Rc<Self>, String>>> {
        let mut policies = Vec::new();
        let mut known: BTreeMap<String, Rc<Self>> = BTreeMap::new();
        for settings in all {
            let documents = match settings.print(name, name) {
                Ok(documents) => json!(documents).to_string(),
                Err(why) => {
                    policies.push(Err(why));
                    continue;
                }
            };
            if !known.contains_key(&documents) {
                let name_of_its_own = format!("{name}-{}", known.len());
                let text = documents.replace(name, &name_of_its_own);
                let renamed = serde_json::from_str(&text).unwrap();
                let policy = Self::of_documents(&name_of_its_own, renamed)?;
                known.insert(documents.clone(), Rc::new(policy));
            }
            policies.push(Ok(Rc::clone(&known[&documents])));
        }
        // The API server learns of them in the order of their creation.
        Self::apply(&format!("{name}-last"), &Settings::default())?;
        Some(policies)
    }

    fn create(&self, pod: &Value) -> ApiVerdict {
        self.cluster.create(Run::Dry, &self.namespace, pod)
    }

    /// Waits until both policies have an effect.
    fn wait(&self) {
        let is_injected = || match self.create(&plain_pod()) {
            ApiVerdict::Accepted { object, .. } => agents(&object) == 1,
            ApiVerdict::Refused(why) => panic!("{}: {why}", self.namespace),
        };
        // An unknown annotation is never read.
        let mut left = plain_pod();
        left["metadata"]["annotations"] = json!({
            "agent-injector.contrib.mackerel.io/inject": "true",
            "agent-injector.contrib.mackerel.io/unknown": "1",
        });
        let is_reported = || !matches!(self.create(&left), ApiVerdict::Accepted { warnings, .. } if warnings.is_empty());
        until(&format!("{} has an effect", self.namespace), || {
            is_injected() && is_reported()
        });
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        for document in &self.documents {
            self.cluster.delete(document);
        }
    }
}

/// A pod that asks for the agent under `injection: annotated`, too.
fn plain_pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-",
        "annotations": {"agent-injector.contrib.mackerel.io/inject": "true"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]}})
}

/// The containers of a pod, of both lists.
fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
    lists.into_iter().flatten().flatten()
}

/// The number of agents in a pod.
fn agents(pod: &Value) -> usize {
    let is_agent = |container: &&Value| container["name"] == "mackerel-container-agent";
    containers(pod).filter(is_agent).count()
}

/// The reasons for which the policies report a pod: `invalid-annotation` of `… denied request: invalid-annotation: roles …`.
fn reported(warnings: &BTreeSet<String>) -> Vec<String> {
    let mut reasons = Vec::new();
    for warning in warnings {
        let Some((_, message)) = warning
            .strip_prefix("Validation failed for ValidatingAdmissionPolicy")
            .and_then(|warning| warning.split_once("': "))
        else {
            continue;
        };
        let id = message.split(':').next().unwrap_or_default();
        reasons.push(id.to_owned());
    }
    reasons
}

#[track_caller]
pub(crate) fn until(event: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "not within a minute: {event}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
