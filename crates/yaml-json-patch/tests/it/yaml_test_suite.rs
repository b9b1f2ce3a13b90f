//! The readers against the yaml-test-suite and the corpus.

use std::fmt::Write as _;
use support::corpus;
use yaml_json_patch::YamlError;
use yaml_json_patch::documents;
use yaml_json_patch::{self as yaml, Kind, NodeId, Style, Tree};

/// The events of a tree in the notation of the yaml-test-suite, but for document starts and tags.
fn events(tree: &Tree<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(root) = tree.root() {
        node_events(tree, root, &mut out);
    }
    out
}

fn node_events(tree: &Tree<'_>, id: NodeId, out: &mut Vec<String>) {
    let mut line = match (tree.kind(id), tree.style(id)) {
        (Kind::Mapping, Style::Flow) => "+MAP {}".to_owned(),
        (Kind::Mapping, _) => "+MAP".to_owned(),
        (Kind::Sequence, Style::Flow) => "+SEQ []".to_owned(),
        (Kind::Sequence, _) => "+SEQ".to_owned(),
        (Kind::Scalar, _) => "=VAL".to_owned(),
        (Kind::Alias, _) => format!("=ALI {}", tree.raw(id)),
    };
    if let Some(anchor) = tree.anchor(id) {
        write!(line, " &{anchor}").unwrap();
    }
    if tree.tag(id).is_some() {
        line.push_str(" <tag>");
    }
    if let Some(value) = tree.scalar(id) {
        let mark = match tree.style(id) {
            Style::SingleQuoted => '\'',
            Style::DoubleQuoted => '"',
            Style::Literal => '|',
            Style::Folded => '>',
            _ => ':',
        };
        line.push(' ');
        line.push(mark);
        for character in value.chars() {
            match character {
                '\\' => line.push_str("\\\\"),
                '\n' => line.push_str("\\n"),
                '\t' => line.push_str("\\t"),
                '\r' => line.push_str("\\r"),
                '\u{8}' => line.push_str("\\b"),
                other => line.push(other),
            }
        }
    }
    out.push(line);
    match tree.kind(id) {
        Kind::Mapping => {
            for (key, value) in tree.entries(id) {
                node_events(tree, key, out);
                node_events(tree, value, out);
            }
            out.push("-MAP".to_owned());
        }
        Kind::Sequence => {
            for item in tree.items(id) {
                node_events(tree, item, out);
            }
            out.push("-SEQ".to_owned());
        }
        Kind::Scalar | Kind::Alias => {}
    }
}

/// The suite's events, a list per document that is not empty; tags reduced to their presence.
fn expected(test_event: &str) -> Vec<Vec<String>> {
    let mut documents: Vec<Vec<String>> = Vec::new();
    for line in test_event.lines() {
        match line.trim_start().split(' ').next().unwrap_or_default() {
            "+DOC" => documents.push(Vec::new()),
            "+STR" | "-STR" | "-DOC" => {}
            _ => {
                let line = line.trim_start();
                let line = match line.split_once('<') {
                    Some((before, after)) if !before.contains([':', '\'', '"', '|', '>']) => {
                        let (_, after) = after.split_once('>').unwrap();
                        format!("{before}<tag>{after}")
                    }
                    _ => line.to_owned(),
                };
                documents.last_mut().unwrap().push(line);
            }
        }
    }
    // `---` and nothing else is a null to the suite; this reader has no root then.
    documents.retain(|document| document != &["=VAL :"]);
    documents
}

struct SuiteCase {
    name: String,
    input: String,
    events: String,
    valid: bool,
}

fn suite(test: &str) -> Option<Vec<SuiteCase>> {
    let root = corpus::suite("yaml-test-suite", test)?;
    let files: std::collections::BTreeMap<String, Vec<u8>> =
        corpus::Files::below(&root.join("data")).collect();
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let cases = files
        .keys()
        .filter_map(|path| path.strip_suffix("/in.yaml"))
        .map(|name| SuiteCase {
            name: name.to_owned(),
            input: text(&format!("{name}/in.yaml")),
            events: text(&format!("{name}/test.event")),
            valid: !files.contains_key(&format!("{name}/error")),
        });
    Some(cases.collect())
}

fn read_all(text: &str) -> Result<Vec<Vec<String>>, YamlError> {
    let trees = documents(text).map(|document| yaml::read_complete(&text[document.span]));
    let mut all = Vec::new();
    for tree in trees {
        all.push(events(&tree?));
    }
    all.retain(|events| !events.is_empty());
    Ok(all)
}

#[test]
fn the_reference_reader_gives_the_suites_events() {
    let Some(cases) = suite("yaml-test-suite") else {
        return;
    };
    let (mut valid, mut invalid) = (0, 0);
    let mut wrong = Vec::new();
    for case in &cases {
        let mut input = case.input.clone();
        // As go-yaml, this reader reads no line break where the text has none; the suite does.
        if ["JEF9/02", "L24T/01"].contains(&case.name.as_str()) {
            input.push('\n');
        }
        let result = read_all(&input);
        // Refused by the letter of YAML 1.2, read by go-yaml and so by this reader: see the module docs of the reference reader, and
        // of what it does with quotes.
        if ["9C9N", "QB6E"].contains(&case.name.as_str()) {
            assert!(result.is_ok(), "{}", case.name);
            invalid += 1;
            continue;
        }
        if case.valid {
            valid += 1;
            if result.as_ref() != Ok(&expected(&case.events)) {
                wrong.push(format!(
                    "{}: {:?}\n{:#?}\n{:#?}",
                    case.name,
                    case.input,
                    expected(&case.events),
                    result
                ));
            }
        } else {
            invalid += 1;
            if result.is_ok() {
                wrong.push(format!("{}: accepted {:?}", case.name, case.input));
            }
        }
    }
    assert_eq!((valid, invalid), (308, 94));
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Every node lies inside its parent and after its elder sibling, and begins and ends with what its style demands.
fn check_spans(tree: &Tree<'_>, name: &str) {
    let Some(root) = tree.root() else { return };
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        let span = tree.place(id);
        let raw = tree.raw(id);
        let trimmed = !raw.starts_with([' ', '\t', '\n', '\r']);
        let fits = match (tree.kind(id), tree.style(id)) {
            (Kind::Scalar, Style::SingleQuoted) => {
                raw.len() > 1 && raw.starts_with('\'') && raw.ends_with('\'')
            }
            (Kind::Scalar, Style::DoubleQuoted) => {
                raw.len() > 1 && raw.starts_with('"') && raw.ends_with('"')
            }
            (Kind::Scalar, Style::Literal) => raw.starts_with('|'),
            (Kind::Scalar, Style::Folded) => raw.starts_with('>'),
            (Kind::Scalar, _) => !raw.ends_with([' ', '\t', '\n', '\r']),
            (Kind::Alias, _) => raw.starts_with('*'),
            (Kind::Sequence, Style::Flow) => raw.starts_with('[') && raw.ends_with(']'),
            (Kind::Sequence, _) => raw.starts_with('-'),
            (Kind::Mapping, _) => true,
        };
        assert!(fits && trimmed, "{name}: {span:?} {raw:?}");
        let children: Vec<NodeId> = match tree.kind(id) {
            Kind::Mapping => tree
                .entries(id)
                .flat_map(|(key, value)| [key, value])
                .collect(),
            Kind::Sequence => tree.items(id).collect(),
            _ => Vec::new(),
        };
        let mut at = span.start;
        for child in &children {
            assert!(
                tree.outer_place(*child).start >= at,
                "{name}: {:?} before {at}",
                tree.place(*child)
            );
            at = tree.place(*child).end;
        }
        assert!(at <= span.end, "{name}: {span:?} ends before {at}");
        todo.extend(children);
    }
}

#[test]
fn spans_are_sound_on_the_corpus() {
    let Some(files) = corpus::manifests("spans") else {
        return;
    };
    let (mut read, mut refused) = (0, 0);
    for (name, bytes) in files {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        let mut at = 0;
        for document in documents(text) {
            assert_eq!(document.span.start, at, "{name}: the documents leave a gap");
            at = document.span.end;
            match yaml::read_complete(&text[document.span.clone()]) {
                Ok(tree) => {
                    read += 1;
                    check_spans(&tree, &name);
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.offset <= document.span.len(), "{name}: {error:?}");
                    assert!(
                        !error.message.contains("not understood here"),
                        "{name}: {error:?}"
                    );
                }
            }
        }
        assert_eq!(at, text.len(), "{name}: the documents do not reach the end");
    }
    assert!(read > 20_000, "{read} documents were read");
    assert!(refused < 200, "{refused} documents were refused");
}

/// The reference reader reads the same tree from every text that the fast reader takes.
pub(crate) fn agree(text: &str, name: &str) -> bool {
    let Some(plain) = yaml::read_fast(text) else {
        return false;
    };
    match yaml::read_complete(text) {
        Ok(reference) if reference == plain => {}
        reference => {
            let reference = reference.map(|tree| events(&tree));
            panic!(
                "{name}: the readers differ on\n{text}\n{text:?}\n{:?}\n{reference:?}",
                events(&plain)
            );
        }
    }
    true
}

#[test]
fn the_plain_reader_agrees_on_the_suite() {
    let Some(cases) = suite("plain reader, suite") else {
        return;
    };
    let taken = cases.iter().flat_map(|case| {
        documents(&case.input).map(|document| agree(&case.input[document.span], &case.name))
    });
    assert!(taken.filter(|taken| *taken).count() > 50);
}

#[test]
fn the_plain_reader_agrees_on_the_corpus() {
    const WORKLOADS: [&str; 8] = [
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "ReplicaSet",
        "Job",
        "CronJob",
        "Pod",
        "ReplicationController",
    ];
    let Some(files) = corpus::manifests("plain reader, corpus") else {
        return;
    };
    let (mut all, mut taken, mut workloads, mut workloads_taken) = (0, 0, 0, 0);
    for (name, bytes) in files {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        for document in documents(text) {
            let text = &text[document.span];
            let mine = agree(text, &name);
            all += 1;
            taken += usize::from(mine);
            if text.lines().any(|line| {
                line.strip_prefix("kind: ")
                    .is_some_and(|kind| WORKLOADS.contains(&kind.trim()))
            }) {
                workloads += 1;
                workloads_taken += usize::from(mine);
            }
        }
    }
    println!(
        "the plain reader takes {taken} of {all} documents, {workloads_taken} of {workloads} workloads"
    );
    assert!(
        workloads_taken * 10 >= workloads * 9,
        "{workloads_taken} of {workloads} workloads"
    );
}
