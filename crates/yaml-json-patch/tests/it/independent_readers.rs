//! Other readers as witnesses: saphyr-parser for what a document holds, yaml-edit for what is a document at all.

use saphyr_parser::{Event, Parser, ScalarStyle};
use support::corpus;
use yaml_json_patch::documents;
use yaml_json_patch::{self as yaml, Kind, NodeId, Style, Tree};

/// Kinds, values, anchors and tags, in the order of the text.
fn tree_events(tree: &Tree<'_>, id: NodeId, out: &mut Vec<String>) {
    let before = format!(
        "{}{}",
        u8::from(tree.anchor(id).is_some()),
        u8::from(tree.tag(id).is_some())
    );
    match tree.kind(id) {
        Kind::Alias => out.push("alias".to_owned()),
        Kind::Scalar => {
            let empty = tree.style(id) == Style::Plain && tree.place(id).is_empty();
            let value = if empty {
                "~".into()
            } else {
                tree.scalar(id).unwrap()
            };
            let mut value = value.into_owned();
            // The editor's reader has no line break that the text has not.
            let block = matches!(tree.style(id), Style::Literal | Style::Folded)
                && !tree.raw(id)[1..].starts_with('-');
            if block && !value.is_empty() && tree.place(id).end == tree.text().len() {
                value.push('\n');
            }
            out.push(format!("{before} {:?} {value:?}", tree.style(id)));
        }
        Kind::Sequence => {
            out.push(format!("{before} ["));
            tree.items(id).for_each(|item| tree_events(tree, item, out));
            out.push("]".to_owned());
        }
        Kind::Mapping => {
            out.push(format!("{before} {{"));
            for (key, value) in tree.entries(id) {
                tree_events(tree, key, out);
                tree_events(tree, value, out);
            }
            out.push("}".to_owned());
        }
    }
}

fn parser_events(text: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let before =
        |anchor: usize, tagged: bool| format!("{}{}", u8::from(anchor > 0), u8::from(tagged));
    for event in Parser::new_from_str(text) {
        match event.ok()?.0 {
            Event::Alias(_) => out.push("alias".to_owned()),
            Event::Scalar(value, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::SingleQuoted,
                    ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
                    ScalarStyle::Literal => Style::Literal,
                    ScalarStyle::Folded => Style::Folded,
                };
                // It spells the empty scalar in both ways.
                let value = if style == Style::Plain && value.is_empty() {
                    "~".into()
                } else {
                    value
                };
                out.push(format!(
                    "{} {style:?} {value:?}",
                    before(anchor, tag.is_some())
                ));
            }
            Event::SequenceStart(anchor, tag) => {
                out.push(format!("{} [", before(anchor, tag.is_some())))
            }
            Event::MappingStart(anchor, tag) => {
                out.push(format!("{} {{", before(anchor, tag.is_some())))
            }
            Event::SequenceEnd => out.push("]".to_owned()),
            Event::MappingEnd => out.push("}".to_owned()),
            _ => {}
        }
    }
    Some(out)
}

#[test]
fn saphyr_parser_reads_the_corpus_as_we_do() {
    let Some(files) = corpus::manifests("saphyr-parser") else {
        return;
    };
    let (mut same, mut refused) = (0, Vec::new());
    for (name, bytes) in files {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        for document in documents(text) {
            let text = &text[document.span];
            let Ok(tree) = yaml::read(text) else { continue };
            let mut events = Vec::new();
            match tree.root() {
                Some(root) => tree_events(&tree, root, &mut events),
                None => continue,
            }
            match parser_events(text) {
                Some(parser_events) => {
                    let differs = events
                        .iter()
                        .zip(&parser_events)
                        .position(|(tree_events, parser_events)| tree_events != parser_events);
                    let at = differs.unwrap_or(events.len().min(parser_events.len()));
                    assert_eq!(
                        events.get(at),
                        parser_events.get(at),
                        "{name}: event {at} of {}",
                        text.len()
                    );
                    same += 1;
                }
                None => refused.push(name.clone()),
            }
        }
    }
    // It refuses tabs between tokens and brackets closed in the column of their key, which Kubernetes reads.
    assert!(
        same > 25_000 && refused.len() < 60,
        "{same} the same, refused: {refused:#?}"
    );
}

#[test]
fn yaml_edit_accepts_the_corpus_as_we_do() {
    let Some(files) = corpus::manifests("yaml-edit") else {
        return;
    };
    let (mut same, mut refused) = (0, Vec::new());
    // A fifth: it is the slowest of them.
    for (name, bytes) in files.step_by(5) {
        let Ok(text) = std::str::from_utf8(&bytes) else {
            continue;
        };
        for document in documents(text) {
            let text = &text[document.span];
            if yaml::read(text).is_err() {
                continue;
            }
            let parse = yaml_edit::YamlFile::parse(text);
            assert_eq!(parse.tree().to_string(), text, "{name}");
            if parse.has_errors() {
                refused.push(name.clone());
            } else {
                same += 1;
            }
        }
    }
    assert!(
        same > 4_000 && refused.len() < 40,
        "{same} accepted, refused: {refused:#?}"
    );
}
