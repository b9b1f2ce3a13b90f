//! The report on the pods of some texts.

use crate::cause::Cause;
use crate::container::{Restarts, runs};
use crate::next_step::NextStep;
use crate::owners::{Objects, Workload};
use crate::pod::{PodReader, counts};
use crate::read::{Piece, pieces};
use crate::state::State;
use config::{API_VERSION, Config, LabelSelector};
use manifest::{PodTemplate, Resource};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use thiserror::Error;
use yaml_json_patch::{Tree, YamlError};

/// The pods of one workload that are in one state.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    #[serde(rename = "resource")]
    pub workload: Workload,
    pub state: State,
    /// The cause of the first pod's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Those of its pods' agents; the reason is that of the last pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) restarts: Option<Restarts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
    /// Names of the pods.
    pub pods: Vec<String>,
}

/// The agents of the pods of all texts. A change of its schema (`docs/status.schema.json`) that readers may not expect needs another
/// API version.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    api_version: &'static str,
    kind: &'static str,
    pub summary: Summary,
    /// In the order of states, then by namespace, kind and name.
    pub workloads: Vec<Row>,
}

/// The numbers of a report.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The number of workloads in each state; one whose pods differ counts in several.
    pub workloads: BTreeMap<State, usize>,
    /// The number of pods in which an agent runs, also one that the configuration leaves alone: Mackerel has a host for each.
    pub(crate) pods_with_running_agent: usize,
}

/// The reason why there is no report.
#[derive(Debug, Error)]
pub enum StatusError {
    /// A text, by its index, is empty, cut off, or has other lines before the objects.
    #[error("the input is not what kubectl prints: {}", error.message)]
    Unreadable {
        /// The index of the text.
        text: usize,
        /// The error in it.
        error: YamlError,
    },
    /// The input has no pod.
    #[error(
        "the input has no Pod, so nothing is known about agents; \
         use `kubectl get pods -A -o json | mackerel-agent-injector status -`"
    )]
    NoPods,
    /// No Namespace of the input has the labels of `--namespace-selector`.
    #[error(
        "no Namespace of the input matches `--namespace-selector`, so no pod counts; \
         `kubectl get namespaces --show-labels` lists the labels"
    )]
    NoMatchingNamespace,
    /// The input lacks the Namespace of a pod, whose labels `--namespace-selector` needs.
    #[error(
        "`--namespace-selector` needs the labels of the Namespace {0}, which is not in the input; \
         use `kubectl get pods,namespaces -A -o json`"
    )]
    NoNamespace(String),
}

/// Reports on the pods of texts that belong together.
///
/// # Errors
/// See [`StatusError`].
pub fn report(texts: &[&str], config: &Config) -> Result<StatusReport, StatusError> {
    report_on_namespaces(texts, config, None)
}

/// Reports on the pods whose namespaces have the labels of a selector.
pub fn report_on_namespaces(
    texts: &[&str],
    config: &Config,
    namespaces: Option<&LabelSelector>,
) -> Result<StatusReport, StatusError> {
    if let Some(text) = texts.iter().position(|text| text.trim().is_empty()) {
        let error = YamlError::new(0, "it is empty".to_owned());
        return Err(StatusError::Unreadable { text, error });
    }
    let texts: Vec<_> = texts.iter().map(|text| pieces(text)).collect();
    let mut objects = Objects::default();
    let mut last_texts = HashMap::new();
    each_resource(&texts, |text, tree, resource| {
        if is_pod(resource) {
            last_texts.insert(PodKey::of(text, tree, resource), text);
        } else {
            objects.add(tree, resource);
        }
        Ok(())
    })?;
    if last_texts.is_empty() {
        return Err(StatusError::NoPods);
    }
    let mut reporter = Reporter {
        objects,
        namespaces,
        reader: PodReader::new(config),
        rows: BTreeMap::new(),
        summary: Summary::default(),
    };
    each_resource(&texts, |text, tree, resource| {
        if is_pod(resource) {
            let key = PodKey::of(text, tree, resource);
            if last_texts.get(&key) == Some(&text) {
                last_texts.remove(&key);
                return reporter.add(tree, resource);
            }
        }
        Ok(())
    })?;
    if let Some(selector) = namespaces
        && !reporter.objects.has_namespace(selector)
    {
        return Err(StatusError::NoMatchingNamespace);
    }
    let Reporter {
        rows, mut summary, ..
    } = reporter;
    let states: BTreeSet<_> = rows.keys().map(|key| (key.state, &key.workload)).collect();
    for (state, _) in states {
        *summary.workloads.entry(state).or_default() += 1;
    }
    Ok(StatusReport {
        api_version: API_VERSION,
        kind: "StatusReport",
        summary,
        workloads: rows.into_values().collect(),
    })
}

/// Reads the texts piece by piece. The function gets the index of the text.
fn each_resource(
    texts: &[Vec<Piece<'_>>],
    mut visit: impl FnMut(usize, &Tree<'_>, &Resource) -> Result<(), StatusError>,
) -> Result<(), StatusError> {
    for (text, pieces) in texts.iter().enumerate() {
        for piece in pieces {
            let unreadable = |error| StatusError::Unreadable { text, error };
            let tree = piece.read().map_err(unreadable)?;
            for resource in piece.resources(&tree) {
                visit(text, &tree, &resource)?;
            }
        }
    }
    Ok(())
}

fn is_pod(resource: &Resource) -> bool {
    resource.identity.kind == "Pod" && resource.identity.api_version == "v1"
}

/// The identity of a pod. A dump that was made later may have it again, and that of another cluster one of the same name.
#[derive(PartialEq, Eq, Hash)]
struct PodKey {
    namespace: Option<String>,
    name: String,
    /// The UID, or the index of the text for a pod without one.
    uid: Result<String, usize>,
}

impl PodKey {
    fn of(text: usize, tree: &Tree<'_>, pod: &Resource) -> Self {
        Self {
            namespace: pod.identity.namespace.clone(),
            name: pod.identity.name.clone(),
            uid: tree
                .member_at(pod.node, ["metadata", "uid"])
                .and_then(|uid| tree.text_of(uid))
                .ok_or(text),
        }
    }
}

/// Adds pods to the rows of their workloads.
struct Reporter<'c> {
    objects: Objects,
    namespaces: Option<&'c LabelSelector>,
    reader: PodReader<'c>,
    rows: BTreeMap<RowKey, Row>,
    summary: Summary,
}

/// The pods of a workload with the same cause share a row.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RowKey {
    state: State,
    workload: Workload,
    cause: Option<String>,
}

impl Reporter<'_> {
    fn add(&mut self, tree: &Tree<'_>, pod: &Resource) -> Result<(), StatusError> {
        let view = PodTemplate::view(tree, pod.node);
        if !counts(tree, pod.node, &view) || !self.selects_namespace(pod)? {
            return Ok(());
        }
        let runs_agent = view
            .own_containers()
            .any(|one| one.is_agent && runs(tree, pod.node, one));
        self.summary.pods_with_running_agent += usize::from(runs_agent);
        let owner = self.objects.owner(tree, pod, &view.labels);
        let Some(found) = self.reader.state(tree, pod, view, &owner) else {
            return Ok(());
        };
        let key = RowKey {
            state: found.state,
            workload: owner.workload.clone(),
            cause: found.cause.as_ref().map(|cause| cause.id.clone()),
        };
        let row = self.rows.entry(key).or_insert_with(|| Row {
            workload: owner.workload,
            state: found.state,
            cause: found.cause,
            restarts: None,
            next: found.next,
            pods: Vec::new(),
        });
        if let Some(more) = found.restarts {
            let earlier = row.restarts.as_ref().map_or(0, |earlier| earlier.count);
            row.restarts = Some(Restarts {
                count: earlier + more.count,
                ..more
            });
        }
        row.pods.push(pod.identity.name.clone());
        Ok(())
    }

    fn selects_namespace(&self, pod: &Resource) -> Result<bool, StatusError> {
        let Some(selector) = self.namespaces else {
            return Ok(true);
        };
        let namespace = pod.identity.namespace.clone().unwrap_or_default();
        match self.objects.labels(&namespace) {
            Some(labels) => Ok(selector.matches(labels)),
            None => Err(StatusError::NoNamespace(namespace)),
        }
    }
}
