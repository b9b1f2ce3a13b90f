//! Shapes of input that whoever writes manifests, annotations or configurations can multiply. The work for each is to grow as its input
//! and output do.

use mackerel_agent_injector::admission::{Hook, Reviewer};
use mackerel_agent_injector::config::Config;
use mackerel_agent_injector::engine::inject;
use mackerel_agent_injector::options::Options;
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;

/// The work that is measured.
pub(crate) type Run = Box<dyn Fn()>;

/// One shape of input.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// The least number to measure.
    pub(crate) least: usize,
    /// Makes the input of a number, and returns the work on it.
    pub(crate) of: fn(usize) -> Run,
}

const fn shape(name: &'static str, least: usize, of: fn(usize) -> Run) -> Shape {
    Shape { name, least, of }
}

const PREFIX: &str = "agent-injector.contrib.mackerel.io/";

/// Every shape, those of one part of the program together.
pub(crate) const SHAPES: &[Shape] = &[
    // Annotations of a pod.
    shape("annotations: one key, repeated", 1000, |n| {
        text(pod(&format!("{{{}}}", each(n, |_| format!("{PREFIX}inject: \"true\", "))), ""))
    }),
    shape("annotations: unknown", 100, |n| pod_with_annotations(n, |i| (format!("{PREFIX}k{i}"), "x".into()))),
];

fn each(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect()
}

/// A pod in one line, with this mapping of annotations and more of a PodSpec.
fn pod(annotations: &str, spec: &str) -> String {
    let containers = "containers: [{name: a, image: a:1}]";
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: a, annotations: {annotations}}}, spec: {{{spec}{containers}}}}}\n"
    )
}

fn text(text: String) -> Run {
    Box::new(move || drop(black_box(inject(&text, &Config::default(), Options::default()))))
}

fn review(hook: Hook, object: &Value) -> Run {
    let (group, version) = object["apiVersion"].as_str().and_then(|types| types.split_once('/')).unwrap_or(("", "v1"));
    let resource = format!("{}s", object["kind"].as_str().unwrap_or_default().to_lowercase());
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "operation": "CREATE", "namespace": "shop", "object": object,
        "kind": {"group": group, "version": version, "kind": object["kind"]},
        "resource": {"group": group, "version": version, "resource": resource},
    }});
    let body = review.to_string();
    let reviewer = Reviewer::new(Arc::new(Config::default()));
    Box::new(move || drop(black_box(reviewer.answer(hook, body.as_bytes()).expect("a review"))))
}

fn pod_with_annotations(n: usize, one: impl Fn(usize) -> (String, Value)) -> Run {
    let annotations: Value = (0..n).map(one).collect();
    let metadata = json!({"name": "a", "annotations": annotations});
    let containers = json!([{"name": "a", "image": "a:1"}]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}});
    review(Hook::Mutate, &pod)
}
