//! Tags in full: `!!int` is `tag:yaml.org,2002:int`, unless a `%TAG` directive says otherwise.

use super::tree::{NodeId, Tree};
use std::borrow::Cow;

/// What `!!` stands for.
pub(crate) const CORE: &str = "tag:yaml.org,2002:";

/// The node's tag in full; `!` for the lone one.
pub(crate) fn of<'t>(tree: &Tree<'t>, id: NodeId) -> Option<Cow<'t, str>> {
    let raw = tree.tag(id)?;
    if let Some(verbatim) = raw.strip_prefix("!<") {
        return Some(Cow::Borrowed(verbatim.strip_suffix('>').unwrap_or(verbatim)));
    }
    if raw == "!" {
        return Some(Cow::Borrowed(raw));
    }
    // `!!int`, `!e!int` or `!int`: the handle ends with the second `!`, if there is one.
    let split = raw.get(1..).and_then(|rest| rest.find('!')).map_or(1, |found| found + 2);
    let (handle, suffix) = raw.split_at(split);
    let declared = if tree.declares_tags { declared(tree.text, handle) } else { None };
    Some(match declared {
        Some(prefix) => Cow::Owned(format!("{prefix}{suffix}")),
        None if handle == "!!" => Cow::Owned(format!("{CORE}{suffix}")),
        None => Cow::Borrowed(raw),
    })
}

/// The prefix that a `%TAG` directive at the head of the document gives to the handle.
fn declared<'t>(text: &'t str, handle: &str) -> Option<&'t str> {
    let head = text.strip_prefix('\u{feff}').unwrap_or(text);
    head.lines()
        .take_while(|line| line.is_empty() || line.starts_with(['%', '#', ' ', '\t']))
        .filter_map(|line| line.strip_prefix("%TAG"))
        .map(str::split_whitespace)
        .find_map(|mut words| (words.next() == Some(handle)).then(|| words.next()).flatten())
}
