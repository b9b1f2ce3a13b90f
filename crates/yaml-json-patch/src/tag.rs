//! Tags in full: `!!int` is `tag:yaml.org,2002:int`, unless a `%TAG` directive says otherwise.

use crate::tree::{NodeId, Tree};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The prefix for which `!!` is short.
pub(crate) const CORE: &str = "tag:yaml.org,2002:";

/// The node's tag in full; `!` for the lone one.
pub(crate) fn of<'t>(tree: &Tree<'t>, id: NodeId) -> Option<Cow<'t, str>> {
    let raw = tree.tag(id)?;
    if let Some(verbatim) = raw.strip_prefix("!<") {
        return Some(Cow::Borrowed(
            verbatim.strip_suffix('>').unwrap_or(verbatim),
        ));
    }
    if raw == "!" {
        return Some(Cow::Borrowed(raw));
    }
    // `!!int`, `!e!int` or `!int`: the handle ends with the second `!`, if there is one.
    let split = raw
        .get(1..)
        .and_then(|rest| rest.find('!'))
        .map_or(1, |found| found + 2);
    let (handle, suffix) = raw.split_at(split);
    Some(match tree.declared_tags.get(handle) {
        Some(prefix) => Cow::Owned(format!("{prefix}{suffix}")),
        None if handle == "!!" => Cow::Owned(format!("{CORE}{suffix}")),
        None => Cow::Borrowed(raw),
    })
}

/// The tags in a node that are none of YAML's own, in full: some program gives them a meaning.
pub(crate) fn own_tags<'t>(tree: &Tree<'t>, node: NodeId) -> impl Iterator<Item = Cow<'t, str>> {
    tree.properties_in(node)
        .filter_map(|p| of(tree, NodeId(p.node)))
        .filter(|tag| tag != "!" && !tag.starts_with(CORE))
}

/// The prefixes that `%TAG` directives at the head of a document give to handles. A `%TAG` in a comment is none.
pub(super) fn declared(text: &str) -> BTreeMap<&str, &str> {
    let mut prefixes = BTreeMap::new();
    let directives = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .split(['\n', '\r'])
        .take_while(|line| line.is_empty() || line.starts_with(['%', '#', ' ', '\t']))
        .filter_map(|line| line.strip_prefix("%TAG"));
    for mut words in directives.map(str::split_whitespace) {
        if let (Some(handle), Some(prefix)) = (words.next(), words.next()) {
            prefixes.entry(handle).or_insert(prefix);
        }
    }
    prefixes
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
        assert_eq!(
            scalar_value(&tree, tree.root().unwrap()),
            Ok(ScalarValue::Str("12".into()))
        );
    }
}
