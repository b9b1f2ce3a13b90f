//! Checks the result: the new text is the old document with the patch applied, and nothing else.
//!
//! The two trees are walked side by side, with the overlay between them. No third document is built.
//!
//! The law that holds: the new text is read as RFC 6902 changes the old text's JSON. It has one exception, which is made where
//! a path is followed (`MemberList::position`): a token that names no member as its key is read, but one as its key is
//! written, names that one. `/on` names the member `on: push`, whose JSON has the name `true`. So `add` replaces that member,
//! and does not write a second `on`; `remove`, `replace`, `test`, `move` and `copy` find it, where RFC 6902 finds nothing. The
//! result is then what RFC 6902 says about the path `/true`.

use crate::json::to_json;
use crate::splice::key::is_key;
use crate::splice::members::{Key, MemberList};
use crate::splice::overlay::{MemberOverlay, Overlay, equal, is_whole};
use crate::splice::{Cache, Spliced};
use crate::tag::own_tags;
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};
use serde_json::{Number, Value};

/// The edited text is not what the patch says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the edited text does not match the patched document; this is a bug")]
#[non_exhaustive]
pub struct Mismatch {
    /// Byte offset into the new text.
    pub offset: usize,
}

/// Checks that the edited text, read anew, is the old document with the operations applied. The cache shares work between
/// documents.
///
/// # Errors
/// When anything else has changed, which is a defect of this crate.
pub fn verify(
    old: &Tree<'_>,
    spliced: &Spliced,
    new: &Tree<'_>,
    cache: &Cache,
) -> Result<(), Mismatch> {
    let overlay = &spliced.overlay;
    let last_break =
        |tree: &Tree<'_>| memchr::memrchr(b'\n', tree.text().as_bytes()).unwrap_or_default();
    let pair = Pair {
        old,
        new,
        last_breaks: (last_break(old), last_break(new)),
        cache,
    };
    match (overlay, new.root()) {
        (Overlay::Nothing, None) => Ok(()),
        (Overlay::Null(_), None) => Ok(()),
        (Overlay::New(value), None) if value.is_null() => Ok(()),
        (_, None) => Err(Mismatch { offset: 0 }),
        (overlay, Some(root)) => pair.node(overlay, root),
    }
}

struct Pair<'a, 'o, 'n> {
    old: &'a Tree<'o>,
    new: &'a Tree<'n>,
    /// The last line break of each text: looked for once, since JSON has all of its nodes on one line.
    last_breaks: (usize, usize),
    cache: &'a Cache,
}

impl Pair<'_, '_, '_> {
    fn fail(&self, at: NodeId) -> Mismatch {
        Mismatch {
            offset: self.new.span(at).start,
        }
    }

    fn expect(&self, right: bool, at: NodeId) -> Result<(), Mismatch> {
        if right { Ok(()) } else { Err(self.fail(at)) }
    }

    fn node(&self, overlay: &Overlay, at: NodeId) -> Result<(), Mismatch> {
        match overlay {
            Overlay::Nothing => Err(self.fail(at)),
            Overlay::Old(node) => self.untouched(*node, at),
            Overlay::New(value) => {
                let (column, raw) = (self.new.column(at), self.new.raw(at));
                // At the end of the text, a block scalar of the same characters may be another value.
                let is_last = self.new.span(at).end == self.new.text().len();
                if is_last || !self.cache.is_verified(value, column, raw) {
                    self.written(value, at)?;
                    self.cache.remember_verified(value, column, raw);
                }
                Ok(())
            }
            Overlay::Carried { value, source } => {
                let same_value = to_json(self.new, at).is_ok_and(|found| equal(&found, value))
                    && self.same_numbers(source.node, at);
                let same_tags = own_tags(self.old, source.node).eq(own_tags(self.new, at));
                self.expect(same_value && same_tags && !self.new.is_aliased(at), at)
            }
            // A null comes back with the tag and anchor it had. An alias of that name would now mean the null.
            Overlay::Null(_) => {
                let is_null = matches!(scalar_value(self.new, at), Ok(ScalarValue::Null));
                self.expect(is_null && !self.new.is_aliased(at), at)
            }
            Overlay::Map { node, members } => {
                self.expect(
                    self.same_properties(*node, at) && self.new.kind(at) == Kind::Mapping,
                    at,
                )?;
                self.members(members, at)
            }
            Overlay::Seq { node, items } => {
                self.expect(
                    self.same_properties(*node, at) && self.new.kind(at) == Kind::Sequence,
                    at,
                )?;
                let mut found = self.new.items(at);
                for item in items {
                    self.node(item, found.next().ok_or_else(|| self.fail(at))?)?;
                }
                self.expect(found.next().is_none(), at)
            }
        }
    }

    /// True if numbers that JSON could spell as they are written are still written like this. Aliases bring others.
    fn same_numbers(&self, before: NodeId, at: NodeId) -> bool {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        numbers(self.old, before, &mut old);
        numbers(self.new, at, &mut new);
        let is_json = |text: &str| serde_json::from_str::<Number>(text).is_ok();
        let mut pairs = old.iter().zip(&new);
        old.len() != new.len() || pairs.all(|(old, new)| old == new || !is_json(old))
    }

    /// Compares members: old ones in their order, new ones in theirs, anywhere among the old ones.
    fn members(&self, members: &MemberList<Overlay>, at: NodeId) -> Result<(), Mismatch> {
        let mut old = members
            .iter()
            .filter(|member| member.key.old().is_some())
            .peekable();
        let mut added = members
            .iter()
            .filter(|member| matches!(member.key, Key::New(_)))
            .peekable();
        for (key, value) in self.new.entries(at) {
            let is_same = |member: &&MemberOverlay| match &member.key {
                Key::Old(before) => self.untouched(*before, key).is_ok(),
                Key::New(name) | Key::Renamed { name, .. } => self.is_named(key, name),
                Key::Removed => false,
            };
            let member = old
                .next_if(is_same)
                .or_else(|| added.next_if(is_same))
                .ok_or_else(|| self.fail(key))?;
            self.node(&member.value, value)?;
        }
        self.expect(old.next().is_none() && added.next().is_none(), at)
    }

    /// True for a key of that name, without anchor and tag.
    fn is_named(&self, key: NodeId, name: &str) -> bool {
        !self.new.has_properties(key) && is_key(self.new, key, name)
    }

    fn same_properties(&self, before: NodeId, at: NodeId) -> bool {
        let has = (self.old.has_properties(before), self.new.has_properties(at));
        has == (false, false)
            || self.old.anchor(before) == self.new.anchor(at)
                && self.old.tag(before) == self.new.tag(at)
    }

    /// Compares a node that the patch does not change. Aliases are compared by name: their targets are compared at their own place.
    fn untouched(&self, before: NodeId, at: NodeId) -> Result<(), Mismatch> {
        let (old, new) = (self.old, self.new);
        let same = old.kind(before) == new.kind(at)
            && old.style(before) == new.style(at)
            && self.same_properties(before, at)
            && match old.kind(before) {
                Kind::Alias => old.raw(before) == new.raw(at),
                Kind::Scalar => self.same_scalar(before, at),
                Kind::Mapping | Kind::Sequence => true,
            };
        self.expect(same, at)?;
        let is_leaf = matches!(old.kind(before), Kind::Alias | Kind::Scalar);
        if is_leaf || self.same_text(before, at) {
            return Ok(());
        }
        let mut children = new.children(at);
        for child in old.children(before) {
            self.untouched(child, children.next().ok_or_else(|| self.fail(at))?)?;
        }
        self.expect(children.next().is_none(), at)
    }

    /// A collection of the same bytes in the same column reads the same, whatever is around it. At the end of a text it
    /// may not: a line break after it can belong to a block scalar's value.
    fn same_text(&self, before: NodeId, at: NodeId) -> bool {
        let (old, new) = (self.old, self.new);
        old.raw(before) == new.raw(at)
            && old.column(before) == new.column(at)
            && old.span(before).end <= self.last_breaks.0
            && new.span(at).end <= self.last_breaks.1
    }

    fn same_scalar(&self, before: NodeId, at: NodeId) -> bool {
        let (old, new) = (self.old, self.new);
        match old.style(before) {
            // The same text may be another value: with other indentation around it, or without a line break at its end.
            Style::Literal | Style::Folded => {
                let open = |tree: &Tree<'_>, id: NodeId| tree.span(id).end == tree.text().len();
                let same = old.raw(before) == new.raw(at)
                    && old.content_column(before) == new.content_column(at)
                    && open(old, before) == open(new, at);
                same || old.scalar(before) == new.scalar(at)
            }
            _ => old.raw(before) == new.raw(at),
        }
    }

    fn written(&self, value: &Value, at: NodeId) -> Result<(), Mismatch> {
        let new = self.new;
        // A scalar may stand behind the anchor of the one that it replaces.
        self.expect(new.tag(at).is_none(), at)?;
        match (value, new.kind(at)) {
            (Value::Array(items), Kind::Sequence) => {
                let mut found = new.items(at);
                for item in items {
                    self.written(item, found.next().ok_or_else(|| self.fail(at))?)?;
                }
                self.expect(found.next().is_none(), at)
            }
            (Value::Object(members), Kind::Mapping) => {
                let mut expected = members.iter();
                for (key, value) in new.entries(at) {
                    let (name, member) = expected.next().ok_or_else(|| self.fail(key))?;
                    self.expect(self.is_named(key, name), key)?;
                    self.written(member, value)?;
                }
                self.expect(expected.next().is_none(), at)
            }
            (scalar, Kind::Scalar) => {
                let same = match (scalar, scalar_value(new, at)) {
                    (Value::Null, Ok(ScalarValue::Null)) => true,
                    (Value::Bool(expected), Ok(ScalarValue::Bool(found))) => *expected == found,
                    (Value::String(expected), Ok(ScalarValue::Str(found))) => *expected == found,
                    (Value::Number(expected), Ok(ScalarValue::Int(found))) => {
                        // A float of the patch, such as 1e3, may be read as an integer.
                        let float = expected.as_f64().filter(|_| expected.is_f64());
                        expected.as_i128() == Some(found)
                            || float.is_some_and(|float| is_whole(float, found))
                    }
                    (Value::Number(expected), Ok(ScalarValue::Float(found))) => {
                        expected.is_f64() && expected.as_f64() == Some(found)
                    }
                    _ => false,
                };
                self.expect(same, at)
            }
            _ => Err(self.fail(at)),
        }
    }
}

/// The numbers in a node, as they are written.
fn numbers<'t>(tree: &Tree<'t>, node: NodeId, found: &mut Vec<&'t str>) {
    if let Ok(ScalarValue::Int(_) | ScalarValue::Float(_)) = scalar_value(tree, node) {
        found.push(tree.raw(node));
    }
    for child in tree.children(node) {
        numbers(tree, child, found);
    }
}

#[cfg(test)]
mod tests {
    use super::verify;
    use crate::splice::{Cache, operations};
    use crate::{Patch, apply, read, splice};
    use serde_json::json;

    /// Beyond 2^53, neighbouring integers have one float.
    #[test]
    fn integers_are_not_compared_as_floats() {
        let cache = Cache::default();
        let old = read("a: 1\n").unwrap();
        for (value, written, same) in [
            (json!(9_007_199_254_740_993_u64), "9007199254740993", true),
            (json!(9_007_199_254_740_993_u64), "9007199254740992", false),
            (
                json!(9_007_199_254_740_993_u64),
                "9007199254740992.0",
                false,
            ),
            (
                json!(-9_007_199_254_740_993_i64),
                "-9007199254740992",
                false,
            ),
            (
                json!(18_446_744_073_709_551_615_u64),
                "18446744073709551614",
                false,
            ),
            (json!(9_007_199_254_740_992.0), "9007199254740993", false),
            (json!(9_007_199_254_740_992.0), "9007199254740992", true),
            (json!(1e3), "1000", true),
        ] {
            let patch: Patch =
                serde_json::from_value(json!([{"op": "replace", "path": "/a", "value": value}]))
                    .unwrap();
            let spliced = splice(&old, operations(&patch), &cache).unwrap();
            let text = format!("a: {written}\n");
            let verified = verify(&old, &spliced, &read(&text).unwrap(), &cache);
            assert_eq!(verified.is_ok(), same, "{value} {written}");
        }
        let test = json!([{"op": "test", "path": "/a", "value": 9_007_199_254_740_992.0}]);
        let test: Patch = serde_json::from_value(test).unwrap();
        assert!(apply("a: 9007199254740993\n", &test).is_err());
        assert!(apply("a: 9007199254740992\n", &test).is_ok());
    }
}
