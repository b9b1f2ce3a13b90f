//! Manifests of the corpus: a member is added to every pod template, checked as JSON, and removed again.

use crate::splice::visible;
use json_patch::Patch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::corpus;
use yaml_json_patch::documents;
use yaml_json_patch::edit;
use yaml_json_patch::json_patch::jsonptr::PointerBuf;
use yaml_json_patch::{
    self as yaml, Cache, ErrorKind, Kind, NodeId, Operation, ScalarValue, Tree, null_source,
    operations, scalar_value, splice, to_json, verify,
};

/// A change of a document, and the change that undoes it.
#[derive(Default)]
struct UndoableChange {
    add: Vec<Value>,
    undo: Vec<Operation>,
}

impl UndoableChange {
    fn add(&mut self, path: String, index: Option<usize>, value: Value) {
        let place = index.map_or_else(String::new, |_| "/-".to_owned());
        self.add
            .push(json!({"op": "add", "path": format!("{path}{place}"), "value": value}));
        let place = index.map_or_else(String::new, |index| format!("/{index}"));
        self.undo.insert(
            0,
            Operation::Remove {
                path: pointer(&format!("{path}{place}")),
            },
        );
    }

    /// Adds an item to a list, which may be missing or null.
    fn append(&mut self, tree: &Tree<'_>, parent: NodeId, path: &str, key: &str, item: Value) {
        let path = format!("{path}/{key}");
        match tree.get(parent, key) {
            Some(list) if tree.kind(tree.alias_target(list)) == Kind::Sequence => {
                self.add(
                    path,
                    Some(tree.items(tree.alias_target(list)).count()),
                    item,
                );
            }
            Some(null) if is_null(tree, null) => {
                self.fill(tree, (parent, null), path, json!([item]))
            }
            Some(_) => {}
            None => self.add(path, None, json!([item])),
        }
    }

    fn set(
        &mut self,
        tree: &Tree<'_>,
        parent: NodeId,
        path: &str,
        key: &str,
        member: (&str, Value),
    ) {
        let path = format!("{path}/{key}");
        let (name, value) = member;
        match tree.get(parent, key) {
            Some(map) if tree.kind(tree.alias_target(map)) == Kind::Mapping => {
                self.add(format!("{path}/{}", name.replace('/', "~1")), None, value);
            }
            Some(null) if is_null(tree, null) => {
                self.fill(tree, (parent, null), path, json!({ name: value }))
            }
            Some(_) => {}
            None => self.add(path, None, json!({ name: value })),
        }
    }

    fn fill(
        &mut self,
        tree: &Tree<'_>,
        (parent, null): (NodeId, NodeId),
        path: String,
        value: Value,
    ) {
        let source = null_source(tree, parent, null);
        self.undo.insert(
            0,
            Operation::RestoreNull {
                path: pointer(&path),
                source,
            },
        );
        self.add
            .push(json!({"op": "add", "path": path, "value": value}));
    }
}

fn is_null(tree: &Tree<'_>, node: NodeId) -> bool {
    tree.kind(node) == Kind::Scalar && scalar_value(tree, node) == Ok(ScalarValue::Null)
}

/// Every mapping with a list of containers.
fn pod_specs(tree: &Tree<'_>, node: NodeId, path: &str, found: &mut Vec<(String, NodeId)>) {
    for (key, value) in tree.entries(node) {
        let Some(name) = tree.scalar(key) else {
            continue;
        };
        if name == "containers" && tree.kind(tree.alias_target(value)) == Kind::Sequence {
            found.push((path.to_owned(), node));
        }
        pod_specs(
            tree,
            tree.alias_target(value),
            &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
            found,
        );
    }
    for (at, item) in tree.items(node).enumerate() {
        pod_specs(
            tree,
            tree.alias_target(item),
            &format!("{path}/{at}"),
            found,
        );
    }
}

fn agent() -> Value {
    json!({
        "name": "agent",
        "image": "example/agent:v1",
        "env": [{"name": "PORT", "value": "0"}, {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
        "resources": {"limits": {"memory": "128Mi"}},
        "securityContext": {"capabilities": {"drop": ["ALL"]}, "runAsUser": 65532, "runAsNonRoot": true},
        "volumeMounts": [{"name": "tmp", "mountPath": "/var/tmp"}],
    })
}

fn pointer(path: &str) -> PointerBuf {
    PointerBuf::parse(path).unwrap()
}

fn patch(operations: &[Value]) -> Patch {
    serde_json::from_value(Value::Array(operations.to_vec())).unwrap()
}

/// Adds a value, checks the result and removes the value again. Returns the refusal if one of the two steps is refused.
fn there_and_back(
    text: &str,
    tree: &Tree<'_>,
    change: &UndoableChange,
    name: &str,
) -> Option<ErrorKind> {
    let add = patch(&change.add);
    let cache = Cache::default();
    let spliced = match splice(tree, operations(&add), &cache) {
        Ok(spliced) => spliced,
        Err(uneditable) => {
            assert!(
                !uneditable.kind.is_fault_of_patch(),
                "{name}: {uneditable}: {add}"
            );
            return Some(uneditable.kind);
        }
    };
    let patched = edit::apply(text, &spliced.edits);
    let new = yaml::read(&patched)
        .unwrap_or_else(|error| panic!("{name}: {error}\n{}", visible(&patched)));
    verify(tree, &spliced, &new, &cache)
        .unwrap_or_else(|at| panic!("{name}: {at:?}\n{}", visible(&patched)));
    let json = |tree: &Tree<'_>| to_json(tree, tree.root().unwrap());
    if let Ok(mut expected) = json(tree) {
        json_patch::patch(&mut expected, &add).unwrap();
        assert_eq!(
            json(&new).unwrap(),
            expected,
            "{name}\n{}",
            visible(&patched)
        );
    }
    let back = match splice(&new, change.undo.clone(), &cache) {
        Ok(back) => edit::apply(&patched, &back.edits),
        Err(uneditable) => panic!(
            "{name}: added, but not removed: {uneditable}\n{}",
            visible(&patched)
        ),
    };
    if back != text {
        let (before, after) = (visible(text), visible(&back));
        panic!(
            "{name}: not what it was\n{}",
            similar::TextDiff::from_lines(&before, &after).unified_diff()
        );
    }
    None
}

#[test]
fn containers_come_and_go_in_the_corpus() {
    let Some(files) = corpus::manifests("containers_come_and_go_in_the_corpus") else {
        return;
    };
    let mut done = 0;
    let mut refused: BTreeMap<ErrorKind, Vec<String>> = BTreeMap::new();
    for (name, bytes) in files {
        let Ok(stream) = String::from_utf8(bytes) else {
            continue;
        };
        for document in documents(&stream) {
            let text = &stream[document.span];
            let Ok(tree) = yaml::read(text) else { continue };
            let Some(root) = tree.root() else { continue };
            let mut specs = Vec::new();
            pod_specs(&tree, root, "", &mut specs);
            let mut all = UndoableChange::default();
            let mut alone = true;
            for (path, spec) in &specs {
                let mut change = UndoableChange::default();
                change.append(&tree, *spec, path, "containers", agent());
                change.append(
                    &tree,
                    *spec,
                    path,
                    "volumes",
                    json!({"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}),
                );
                change.append(&tree, *spec, path, "initContainers", agent());
                change.set(
                    &tree,
                    *spec,
                    path,
                    "nodeSelector",
                    ("example.com/kind", json!("yes")),
                );
                change.set(
                    &tree,
                    *spec,
                    path,
                    "securityContext",
                    ("exampleOption", json!(1)),
                );
                match there_and_back(text, &tree, &change, &name) {
                    None => done += 1,
                    Some(refusal) => {
                        alone = false;
                        refused.entry(refusal).or_default().push(name.clone());
                    }
                }
                all.add.extend(change.add);
                all.undo.splice(0..0, change.undo);
            }
            if alone && specs.len() > 1 {
                assert_eq!(there_and_back(text, &tree, &all, &name), None);
            }
        }
    }
    for (refusal, names) in &refused {
        let names: Vec<&str> = names.iter().map(String::as_str).take(5).collect();
        println!("{}: {names:?}", refusal.word());
    }
    let counts: Vec<(&str, usize)> = refused
        .iter()
        .map(|(refusal, names)| (refusal.word(), names.len()))
        .collect();
    assert_eq!(
        (done, counts.as_slice()),
        (
            11_046,
            [("duplicate-key", 6), ("open-block-scalar", 4)].as_slice()
        )
    );
}
