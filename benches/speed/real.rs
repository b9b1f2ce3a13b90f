//! Streams of other people's manifests, where the corpus of the tests is there: the same corpus gives the same bytes.

use crate::streams::{Form, Random, Stream};
use config::Config;
use injector::{Options, inject};
use report::{Class, Reason};
use serde::Deserialize as _;
use std::fs;
use std::path::{Path, PathBuf};
use support::corpus;
use yaml_json_patch::documents;

/// Documents of the corpus: those that get an agent and those that do not.
pub(crate) struct CorpusDocuments {
    workloads: Vec<String>,
    others: Vec<String>,
}

/// None, with a line on standard error, if the corpus is absent.
pub(crate) fn documents_of_the_corpus() -> Option<CorpusDocuments> {
    let mut found = CorpusDocuments {
        workloads: Vec::new(),
        others: Vec::new(),
    };
    for (_, bytes) in corpus::manifests("bench")? {
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        for document in documents(&text) {
            let body = body(&text[document.span]);
            if let Some(injected) = is_injected(&body) {
                if injected {
                    &mut found.workloads
                } else {
                    &mut found.others
                }
                .push(body);
            }
        }
    }
    Some(found)
}

/// Writes the files of the corpus below a folder, and returns their paths; none if the corpus is absent.
pub(crate) fn write_corpus(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (name, bytes) in corpus::manifests("bench")? {
        let file = folder.join(name);
        fs::create_dir_all(file.parent()?).expect("the folder can be made");
        fs::write(&file, bytes).expect("the file can be written");
        files.push(file);
    }
    Some(files)
}

/// The document without its marker, and with one line break at its end.
fn body(document: &str) -> String {
    let body = document.trim_start();
    let body = body.strip_prefix("---").map_or(body, |behind| {
        behind.split_once('\n').map_or("", |(_, body)| body)
    });
    format!("{}\n", body.trim_start_matches(['\n', ' ']).trim_end())
}

/// True if a document gets an agent. None if it does not fit into every stream of the comparison: it is not one resource in block
/// style at column 0, serde_yaml or the injector refuses it, or it reads otherwise as an item.
fn is_injected(body: &str) -> Option<bool> {
    let has = |key: &str| body.starts_with(key) || body.contains(&format!("\n{key}"));
    let is_plain = has("apiVersion: ")
        && has("kind: ")
        && !has("items:")
        && !has("%")
        && !has("...")
        && !has("---");
    if !is_plain || body.len() > 200_000 || body.contains(['\r', '\t', '\u{feff}']) {
        return None;
    }
    let mut list = Stream::new(Form::ResourceList);
    list.push(Form::ResourceList, "", body, false);
    let decided = decisions(body)?;
    (decisions(&list.text)? == decided).then(|| decided.contains(&Reason::Injected))
}

/// None if the injector or serde_yaml refuses a document.
fn decisions(text: &str) -> Option<Vec<Reason>> {
    serde_yaml::Value::deserialize(serde_yaml::Deserializer::from_str(text)).ok()?;
    let injection = inject(text, &Config::default(), Options::default());
    let decided: Vec<Reason> = injection
        .outcomes
        .iter()
        .map(|outcome| outcome.decision.reason)
        .collect();
    let is_refused = decided
        .iter()
        .any(|reason| reason.class() == Class::Refused);
    (!is_refused && injection.findings.is_empty()).then_some(decided)
}

impl CorpusDocuments {
    /// As many as it takes to fill `bytes`, in random order, three of ten workloads. Those of a large stream come several times.
    pub(crate) fn stream(&self, form: Form, bytes: usize) -> Stream {
        let mut random = Random::new();
        let mut stream = Stream::new(form);
        while stream.text.len() < bytes {
            let is_workload = random.percent(30);
            let of = if is_workload {
                &self.workloads
            } else {
                &self.others
            };
            let document = &of[random.below(of.len())];
            stream.push(form, "manifest", document, is_workload);
        }
        stream
    }
}
