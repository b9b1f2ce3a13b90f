//! Tags in full: `!!int` is `tag:yaml.org,2002:int`, unless a `%TAG` directive says otherwise.

use crate::tree::{NodeId, Tree};
use std::borrow::Cow;

/// The prefix for which `!!` is short.
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
    directives(text)
        .map(str::split_whitespace)
        .find_map(|mut words| (words.next() == Some(handle)).then(|| words.next()).flatten())
}

/// The text behind each `%TAG` at the head of a document. A `%TAG` in a comment is none.
pub(super) fn directives(text: &str) -> impl Iterator<Item = &str> {
    let head = text.strip_prefix('\u{feff}').unwrap_or(text);
    head.split(['\n', '\r'])
        .take_while(|line| line.is_empty() || line.starts_with(['%', '#', ' ', '\t']))
        .filter_map(|line| line.strip_prefix("%TAG"))
}

#[cfg(test)]
mod tests {
    use crate::read::{read, read_complete, read_fast};
    use crate::value::{ScalarValue, scalar_value};

    #[test]
    fn only_a_directive_declares_a_tag() {
        for text in ["# see %TAG: below\n---\na: 1\n", " #%TAG\n---\na: 1\n"] {
            assert_eq!(read_fast(text), read_complete(text).ok(), "{text}");
        }
        let text = "\u{feff}# c\r%TAG !e! tag:yaml.org,2002:\r---\r!e!str 12";
        let tree = read(text).unwrap();
        assert_eq!(scalar_value(&tree, tree.root().unwrap()), Ok(ScalarValue::Str("12".into())));
    }
}
