//! Comments at any column, in random documents: no edit loses one of another element.

use crate::generator::{ChoiceTape, document};
use crate::properties::{read_json, tape};
use crate::splice::visible;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{
    CommentPlace, Editor, Kind, NodeId, Style, Tree, ends_in_open_block_scalar, read,
};

/// A member or an item of a collection in lines.
struct Element {
    path: String,
    /// The places of its key or dash, and behind its value.
    start: usize,
    end: usize,
    /// It is an item, or its column is that of the dashes of the list above it.
    is_below_items: bool,
}

/// The beginning of the line that holds a place. A byte order mark is in no line.
fn line_of(text: &str, at: usize) -> usize {
    let head = text.len() - text.trim_start_matches('\u{feff}').len();
    text[..at].rfind('\n').map_or(head, |feed| feed + 1)
}

fn elements(tree: &Tree<'_>, node: NodeId, path: &str, found: &mut Vec<Element>) {
    let is_in_lines = tree.style(node) == Style::Block;
    let text = tree.text();
    let column = |at: usize| at - line_of(text, at);
    let names: Vec<_> = tree
        .entries(node)
        .map(|(key, _)| tree.scalar(key))
        .collect();
    let mut list = None;
    for (key, value) in tree.entries(node) {
        // A path leads to the last member of its name.
        let name = tree.scalar(key);
        let is_alone = names.iter().filter(|other| **other == name).count() == 1;
        let name = name.unwrap_or_default();
        let path = format!("{path}/{}", escape(&name));
        let start = tree.outer_place(key).start;
        if is_in_lines && is_alone {
            found.push(Element {
                path: path.clone(),
                start,
                end: tree.place(value).end.max(start + 1),
                is_below_items: list == Some(column(start)),
            });
        }
        let is_list = tree.kind(value) == Kind::Sequence && tree.style(value) == Style::Block;
        list = is_list.then(|| column(tree.place(value).start));
        if is_alone {
            elements(tree, value, &path, found);
        }
    }
    for (index, item) in tree.items(node).enumerate() {
        let path = format!("{path}/{index}");
        let place = tree.outer_place(item);
        let before = text[..place.start].trim_end_matches(' ');
        if is_in_lines && before.ends_with('-') {
            found.push(Element {
                path: path.clone(),
                start: before.len() - 1,
                end: place.end.max(before.len()),
                is_below_items: true,
            });
        }
        elements(tree, item, &path, found);
    }
}

/// Puts comments, each with a word of its own, between lines where they change no value.
fn with_comments(text: &str, tape: &mut ChoiceTape<'_>) -> String {
    let value = read_json(text);
    let mut text = text.to_owned();
    for serial in 0..=tape.pick(6) {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines: Vec<usize> = std::iter::once(0).chain(breaks).collect();
        let at = lines[tape.pick(lines.len())];
        let marker = tape.choose(&["#", "##", "#-", "# -", "#  "]);
        let blank = tape.choose(&["", "", "", "\n"]);
        let comment = format!("{}{marker} c{serial}z\n{blank}", " ".repeat(tape.pick(7)));
        let longer = [&text[..at], &comment, &text[at..]].concat();
        let is_comment = |tree: &Tree<'_>| !tree.is_in_scalar(at + comment.find('#').unwrap());
        if read_json(&longer) == value && read(&longer).is_ok_and(|tree| is_comment(&tree)) {
            text = longer;
        }
    }
    text
}

fn words(text: &str) -> BTreeSet<usize> {
    (0..8)
        .filter(|serial| text.contains(&format!("c{serial}z")))
        .collect()
}

/// The text with the lines of comments right above an element in its column, and those below that are deeper, as the column alone
/// decides.
fn own_text<'t>(text: &'t str, element: &Element) -> [&'t str; 3] {
    let line = line_of(text, element.start);
    let column = element.start - line;
    // The comment above a line is that of the first dash on it.
    let begins = column - text[line..element.start].trim_start_matches(' ').len();
    let (mut above, mut below) = (line, text.len());
    let head = line_of(text, 0);
    for comment in text[head..line].split_inclusive('\n').rev() {
        let content = comment.trim_start_matches(' ');
        let is_item = content.trim_start_matches(['#', ' ']).starts_with("- ");
        let is_own = content.starts_with('#') && comment.len() - content.len() == begins;
        if !is_own || (is_item && element.is_below_items) {
            break;
        }
        above -= comment.len();
    }
    let end = text[element.end..]
        .find('\n')
        .map_or(text.len(), |feed| element.end + feed + 1);
    let mut at = end;
    for comment in text[end..].split_inclusive('\n') {
        let content = comment.trim_start_matches(' ');
        let is_deeper = content.starts_with('#') && comment.len() - content.len() > column;
        if !is_deeper && !content.trim().is_empty() {
            break;
        }
        at += comment.len();
    }
    below = below.min(at);
    [&text[above..line], &text[line..end], &text[end..below]]
}

fn check_comments(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let mut tape = ChoiceTape::new(choices);
    let text = with_comments(&document(&mut ChoiceTape::new(layout)), &mut tape);
    let Ok(mut editor) = Editor::new(&text) else {
        return Ok(());
    };
    for _ in 0..=tape.pick(3) {
        let text = editor.finish();
        let tree = read(&text).unwrap();
        let mut found = Vec::new();
        if let Some(root) = tree.root() {
            elements(&tree, root, "", &mut found);
        }
        if found.is_empty() {
            return Ok(());
        }
        let element = &found[tape.pick(found.len())];
        let path = element.path.as_str();
        let (parent, name) = path.rsplit_once('/').unwrap();
        let name = name.replace("~1", "/").replace("~0", "~");
        for place in [CommentPlace::Above, CommentPlace::LineEnd] {
            if let Ok(comment) = editor.comment(path, place) {
                editor
                    .set_comment(path, place, &comment.unwrap_or_default())
                    .unwrap();
                prop_assert_eq!(editor.finish(), text.clone(), "{} back", path);
            }
        }
        let [above, own, below] = own_text(&text, element);
        let new = format!("{parent}/new");
        let value = json!({"k": [1]});
        let kind = tape.pick(7);
        let (edited, lost) = match kind {
            0 => (
                editor
                    .set_comment(path, CommentPlace::Above, "own")
                    .map(drop),
                above.to_owned(),
            ),
            1 => (
                editor
                    .set_comment(path, CommentPlace::LineEnd, "own")
                    .map(drop),
                own.to_owned(),
            ),
            2 => (editor.remove(path).map(drop), [above, own, below].concat()),
            3 => (
                editor.insert_before(&*new, &name, value).map(drop),
                String::new(),
            ),
            4 => (
                editor.insert_after(&*new, &name, value).map(drop),
                String::new(),
            ),
            5 => (editor.insert(path, value).map(drop), own.to_owned()),
            _ => (editor.set(&*new, value).map(drop), String::new()),
        };
        let there = editor.finish();
        let shown = || format!("{kind} {path}\n{}\n{}", visible(&text), visible(&there));
        if edited.is_err() {
            prop_assert_eq!(&there, &text, "{}", shown());
            continue;
        }
        let gone: Vec<usize> = words(&text).difference(&words(&there)).copied().collect();
        prop_assert!(
            gone.iter().all(|word| words(&lost).contains(word)),
            "{gone:?} lost by {}",
            shown()
        );
        if kind == 0 {
            let comment = editor.comment(path, CommentPlace::Above).unwrap();
            prop_assert_eq!(comment.as_deref(), Some("own"), "{}", shown());
        }
        let was_there = found.iter().any(|element| element.path == new);
        let is_added = matches!(kind, 3 | 4 | 6) && !was_there && new.starts_with('/');
        if is_added && !ends_in_open_block_scalar(&tree) {
            let mut editor = editor.clone();
            prop_assert!(editor.remove(&*new).unwrap(), "{}", shown());
            prop_assert_eq!(visible(&editor.finish()), visible(&text), "{}", shown());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_edit_loses_a_comment_of_another_element(layout in tape(), choices in tape()) {
        check_comments(&layout, &choices)?;
    }
}
