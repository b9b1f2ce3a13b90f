//! Adds the same container to the same 1,000 documents with four programs, and compares the results.

use serde_json::json;
use serde_yaml::Value;
use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr as _;
use std::time::{Duration, Instant};
use yaml_json_patch::{Patch, apply, documents};

/// Documents that are edited.
const DOCUMENTS: usize = 1_000;

/// Rounds over all documents; each editor's fastest one counts, so that what else runs on the machine matters less.
const ROUNDS: usize = 50;

const CONTAINER: &str = "\
name: agent
image: example/agent:v1
env:
- name: PORT
  value: '0'
- name: IP
  valueFrom:
    fieldRef:
      fieldPath: status.hostIP
resources:
  limits:
    memory: 128Mi
";

/// A document and the list that the container is added to.
struct Case {
    name: String,
    text: String,
    /// Keys and indices from the root to the list.
    path: Vec<Step>,
    /// The document with the container.
    expected: Value,
    patch: Patch,
}

enum Step {
    Key(String),
    Index(usize),
}

type Edit = fn(&Case) -> Result<String, Box<dyn Error>>;

const EDITORS: [(&str, Edit); 4] = [
    ("yaml-json-patch", by_yaml_json_patch),
    ("yamlpatch", by_yamlpatch),
    ("yaml-edit", by_yaml_edit),
    ("serde_yaml, load and dump", by_serde_yaml),
];

fn by_yaml_json_patch(case: &Case) -> Result<String, Box<dyn Error>> {
    Ok(apply(&case.text, &case.patch)?)
}

fn by_yamlpatch(case: &Case) -> Result<String, Box<dyn Error>> {
    let document = yamlpath::Document::new(case.text.as_str())?;
    let component = |step: &Step| match step {
        Step::Key(key) => yamlpath::Component::from(key.clone()),
        Step::Index(index) => yamlpath::Component::from(*index),
    };
    let route = yamlpath::Route::default().with_keys(case.path.iter().map(component));
    let operation = yamlpatch::Op::Append {
        value: serde_yaml::from_str(CONTAINER)?,
    };
    Ok(
        yamlpatch::apply_yaml_patches(&document, &[yamlpatch::Patch { route, operation }])?
            .source()
            .to_owned(),
    )
}

fn by_yaml_edit(case: &Case) -> Result<String, Box<dyn Error>> {
    let file = yaml_edit::YamlFile::from_str(&case.text)?;
    let document = file.document().ok_or("there is no document")?;
    let container = yaml_edit::Document::from_str(CONTAINER)?;
    let mut at: Option<yaml_edit::YamlNode> = None;
    for step in &case.path {
        at = match (&at, step) {
            (None, Step::Key(key)) => document.get(key.as_str()),
            (None, Step::Index(index)) => document
                .as_sequence()
                .and_then(|sequence| sequence.get(*index)),
            (Some(node), Step::Key(key)) => node
                .as_mapping()
                .and_then(|mapping| mapping.get(key.as_str())),
            (Some(node), Step::Index(index)) => {
                node.as_sequence().and_then(|sequence| sequence.get(*index))
            }
        };
        if at.is_none() {
            return Err("the list is not found".into());
        }
    }
    let list = at
        .as_ref()
        .and_then(|node| node.as_sequence())
        .ok_or("the list is not found")?;
    list.push(container.as_mapping().ok_or("the container is not found")?);
    Ok(file.to_string())
}

fn by_serde_yaml(case: &Case) -> Result<String, Box<dyn Error>> {
    let mut document: Value = serde_yaml::from_str(&case.text)?;
    add(&mut document, &case.path)?;
    Ok(serde_yaml::to_string(&document)?)
}

/// Adds the container to the list.
fn add(document: &mut Value, path: &[Step]) -> Result<(), Box<dyn Error>> {
    let mut at = document;
    for step in path {
        let next = match step {
            Step::Key(key) => at.get_mut(key.as_str()),
            Step::Index(index) => at.get_mut(*index),
        };
        at = next.ok_or("the list is not found")?;
    }
    at.as_sequence_mut()
        .ok_or("the list is not found")?
        .push(serde_yaml::from_str(CONTAINER)?);
    Ok(())
}

/// The results of one editor.
#[derive(Default)]
struct Score {
    /// The result is the original with one piece of text inserted.
    kept: usize,
    /// The result reads as expected, but bytes of the original were changed.
    changed: usize,
    /// Lines of the original that are not in the result.
    lines: usize,
    /// Lines among them that are comments.
    comments: usize,
    /// The result reads as something else than the document with the container.
    wrong: usize,
    /// No result: an error or a panic.
    refused: usize,
    /// Examples of what was not kept, by message.
    examples: BTreeMap<String, (usize, String)>,
}

impl Score {
    fn note(&mut self, what: String, case: &Case) {
        let what: String = what
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(90)
            .collect();
        self.examples
            .entry(what)
            .or_insert_with(|| (0, case.name.clone()))
            .0 += 1;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cases = cases()?;
    let lines: usize = cases.iter().map(|case| case.text.lines().count()).sum();
    let bytes: usize = cases.iter().map(|case| case.text.len()).sum();
    println!("{} documents, {lines} lines, {bytes} bytes\n", cases.len());
    // Editors that panic count as such, without a page for each.
    std::panic::set_hook(Box::new(|_| {}));
    println!(
        "| | every byte kept | some changed | lines lost, comments | wrong | refused | time | times ours |"
    );
    println!("| --- | --: | --: | --: | --: | --: | --: | --: |");
    let mut details = String::new();
    let times = least_times(&cases);
    for ((name, edit), time) in EDITORS.into_iter().zip(times) {
        let score = score(&cases, edit);
        println!(
            "| {name} | {} | {} | {}, {} | {} | {} | {:.1} ms | {:.1} |",
            score.kept,
            score.changed,
            score.lines,
            score.comments,
            score.wrong,
            score.refused,
            time.as_secs_f64() * 1e3,
            time.as_secs_f64() / times[0].as_secs_f64(),
        );
        for (what, (count, example)) in score.examples {
            details.push_str(&format!("{name}: {count} times {what} ({example})\n"));
        }
    }
    println!("\n{details}");
    Ok(())
}

/// The least wall time of each editor over all documents. In each round they take turns.
fn least_times(cases: &[Case]) -> [Duration; EDITORS.len()] {
    let mut least = [Duration::MAX; EDITORS.len()];
    for _ in 0..ROUNDS {
        for ((_, edit), least) in EDITORS.iter().zip(&mut least) {
            let start = Instant::now();
            for case in cases {
                let _ = std::hint::black_box(catch_unwind(AssertUnwindSafe(|| edit(case))));
            }
            *least = start.elapsed().min(*least);
        }
    }
    least
}

fn score(cases: &[Case], edit: Edit) -> Score {
    let mut score = Score::default();
    for case in cases {
        let result = match catch_unwind(AssertUnwindSafe(|| edit(case))) {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => {
                score.refused += 1;
                score.note(format!("refused: {error}"), case);
                continue;
            }
            Err(_) => {
                score.refused += 1;
                score.note("panicked".to_owned(), case);
                continue;
            }
        };
        match serde_yaml::from_str::<Value>(&result) {
            Ok(found) if found == case.expected => {}
            Ok(_) => {
                score.wrong += 1;
                score.note("wrong: another value".to_owned(), case);
                continue;
            }
            Err(error) => {
                score.wrong += 1;
                score.note(format!("wrong: {error}"), case);
                continue;
            }
        }
        if is_inserted(&case.text, &result) {
            score.kept += 1;
            continue;
        }
        score.changed += 1;
        score.note("changed bytes of the original".to_owned(), case);
        let diff = similar::TextDiff::from_lines(case.text.as_str(), &result);
        for change in diff
            .iter_all_changes()
            .filter(|change| change.tag() == similar::ChangeTag::Delete)
        {
            score.lines += 1;
            score.comments += usize::from(change.value().trim_start().starts_with('#'));
        }
    }
    score
}

/// True if the new text is the old one with one piece inserted.
fn is_inserted(old: &str, new: &str) -> bool {
    let front = old
        .bytes()
        .zip(new.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let back = old
        .bytes()
        .rev()
        .zip(new.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    new.len() >= old.len() && front + back >= old.len()
}

/// The documents: those with a list of containers that serde_yaml reads, evenly chosen.
fn cases() -> Result<Vec<Case>, Box<dyn Error>> {
    let root = corpus()?;
    let mut names = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path)
            } else {
                names.push(path)
            }
        }
    }
    names.sort();
    let mut cases = Vec::new();
    for name in names {
        let Ok(stream) = std::fs::read_to_string(&name) else {
            continue;
        };
        for document in documents(&stream) {
            let text = &stream[document.span];
            let Ok(value) = serde_yaml::from_str::<Value>(text) else {
                continue;
            };
            let mut path = Vec::new();
            if !find_containers(&value, &mut path) {
                continue;
            }
            let mut expected = value;
            add(&mut expected, &path)?;
            let container: serde_json::Value = serde_yaml::from_str(CONTAINER)?;
            let patch = json!([{"op": "add", "path": pointer(&path), "value": container}]);
            let name = name.strip_prefix(&root)?.display().to_string();
            cases.push(Case {
                name,
                text: text.to_owned(),
                path,
                expected,
                patch: serde_json::from_value(patch)?,
            });
        }
    }
    let all = cases.len();
    let mut chosen = 0;
    let mut at = 0;
    cases.retain(|_| {
        let take = at * DOCUMENTS / all >= chosen && chosen < DOCUMENTS;
        at += 1;
        chosen += usize::from(take);
        take
    });
    Ok(cases)
}

/// Extends the path to the first list of containers.
fn find_containers(value: &Value, path: &mut Vec<Step>) -> bool {
    let children: Vec<(Step, &Value)> = match value {
        Value::Mapping(members) => members
            .iter()
            .filter_map(|(key, member)| Some((Step::Key(key.as_str()?.to_owned()), member)))
            .collect(),
        Value::Sequence(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (Step::Index(index), item))
            .collect(),
        _ => return false,
    };
    for (step, child) in children {
        let found =
            matches!((&step, child), (Step::Key(key), Value::Sequence(_)) if key == "containers");
        path.push(step);
        if found || find_containers(child, path) {
            return true;
        }
        path.pop();
    }
    false
}

/// The JSON Pointer to the end of the list.
fn pointer(path: &[Step]) -> String {
    let mut pointer = String::new();
    for step in path {
        pointer.push('/');
        match step {
            Step::Key(key) => pointer.push_str(&yaml_json_patch::pointer::escape(key)),
            Step::Index(index) => pointer.push_str(&index.to_string()),
        }
    }
    pointer + "/-"
}

/// Unpacks `manifests.tar.xz` of the folder that `MACKEREL_CORPUS` names, once.
fn corpus() -> Result<PathBuf, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/corpus/manifests");
    if !folder.is_dir() {
        let source = std::env::var_os("MACKEREL_CORPUS")
            .ok_or("set MACKEREL_CORPUS to the folder of the corpus")?;
        let parts = folder.with_extension("part");
        std::fs::create_dir_all(&parts)?;
        let archive = PathBuf::from(source).join("manifests.tar.xz");
        if !Command::new("tar")
            .arg("-xJf")
            .arg(archive)
            .arg("-C")
            .arg(&parts)
            .status()?
            .success()
        {
            return Err("tar failed".into());
        }
        std::fs::rename(parts, &folder)?;
    }
    Ok(folder)
}
