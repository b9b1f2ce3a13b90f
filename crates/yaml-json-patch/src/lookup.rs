//! Members by name, as a reader of YAML sees them: through aliases and merge keys.

use crate::json::is_merge_key;
use crate::pointer::unescape;
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, other_name, scalar_value};

/// The most merge keys that a lookup follows; beyond them, a key counts as absent. People write one or two.
const MAX_MERGES: usize = 256;

/// A member of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Its value.
    pub value: NodeId,
    /// The mapping that holds it: another one if a merge key brings it.
    pub holder: NodeId,
}

impl Tree<'_> {
    /// The value of a key that is a string to Kubernetes. With duplicate keys: the last, which is the one that counts.
    /// Merge keys (`<<`) are not looked through.
    #[must_use]
    pub fn get(&self, mapping: NodeId, key: &str) -> Option<NodeId> {
        self.entries(mapping)
            .filter(|(k, _)| self.is_key(*k, key))
            .map(|(_, v)| v)
            .last()
    }

    /// True when a key node spells this string.
    #[must_use]
    // Without the hints of this file and of `is_merge_key`, an injection takes 3 % more instructions.
    #[inline]
    pub fn is_key(&self, key: NodeId, wanted: &str) -> bool {
        let node = self.node(key);
        if node.kind == Kind::Scalar && node.style == Style::Plain && !node.has_properties {
            // As bytes: the borders of characters are not looked for.
            let written = node.start as usize..node.end as usize;
            written.len() == wanted.len()
                && self.text.as_bytes().get(written) == Some(wanted.as_bytes())
        } else {
            self.decodes_to(key, wanted)
        }
    }

    /// A function of its own, so that the comparison of plain keys is inlined.
    #[inline(never)]
    fn decodes_to(&self, key: NodeId, wanted: &str) -> bool {
        match scalar_value(self, key) {
            Ok(ScalarValue::Str(text)) => text == wanted,
            _ => self.scalar(key).is_some_and(|text| text == wanted),
        }
    }

    /// The value of a member. Aliases are followed, and merge keys (`<<`) where the mapping itself has no such key; of
    /// duplicate keys the last one counts, as for [`Tree::get`].
    #[must_use]
    pub fn member(&self, mapping: NodeId, key: &str) -> Option<NodeId> {
        self.find_member(mapping, key).map(|member| member.value)
    }

    /// The member that [`Tree::member`] finds, with the mapping that holds it.
    #[must_use]
    pub fn find_member(&self, mapping: NodeId, key: &str) -> Option<Member> {
        find(self, mapping, key, &mut Vec::new())
    }

    /// The values of several members, each as [`Tree::member`] finds it, in one pass.
    ///
    /// ```
    /// let tree = yaml_json_patch::read("kind: Pod\napiVersion: v1\n")?;
    /// let [api_version, name] = tree.members(tree.root().unwrap(), ["apiVersion", "name"]);
    /// assert_eq!(api_version.map(|node| tree.raw(node)), Some("v1"));
    /// assert_eq!(name, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn members<const N: usize>(&self, mapping: NodeId, keys: [&str; N]) -> [Option<NodeId>; N] {
        let mut values = [None; N];
        let mut merges = false;
        for (name, value) in self.entries(self.alias_target(mapping)) {
            match keys.iter().position(|key| self.is_key(name, key)) {
                Some(at) => values[at] = Some(value),
                None => merges |= is_merge_key(self, name),
            }
        }
        if merges {
            values = keys.map(|key| self.member(mapping, key));
        }
        values
    }

    /// The value that a path of keys leads to, each of them found by [`Tree::member`].
    #[must_use]
    pub fn member_at<'k>(
        &self,
        mapping: NodeId,
        keys: impl IntoIterator<Item = &'k str>,
    ) -> Option<NodeId> {
        keys.into_iter()
            .try_fold(mapping, |node, key| self.member(node, key))
    }

    /// The items of a member that is a sequence; nothing if it is absent or another node.
    pub fn member_items(&self, mapping: NodeId, key: &str) -> impl Iterator<Item = NodeId> + '_ {
        self.member(mapping, key)
            .into_iter()
            .flat_map(|list| self.items(self.alias_target(list)))
    }

    /// The keys and values of a member that is a mapping; nothing if it is absent or another node.
    pub fn member_entries(
        &self,
        mapping: NodeId,
        key: &str,
    ) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.member(mapping, key)
            .into_iter()
            .flat_map(|member| self.entries(self.alias_target(member)))
    }

    /// The text of a member that is a scalar: see [`Tree::text_of`].
    #[must_use]
    pub fn member_text(&self, mapping: NodeId, key: &str) -> Option<String> {
        self.text_of(self.member(mapping, key)?)
    }

    /// The texts of several members that are scalars, in one pass: see [`Tree::text_of`].
    #[must_use]
    pub fn member_texts<const N: usize>(
        &self,
        mapping: NodeId,
        keys: [&str; N],
    ) -> [Option<String>; N] {
        self.members(mapping, keys)
            .map(|value| self.text_of(value?))
    }

    /// The text of a scalar, or of one that an alias leads to: the value of a string, and a number or boolean as it is
    /// written. None for null.
    #[must_use]
    pub fn text_of(&self, node: NodeId) -> Option<String> {
        let node = self.alias_target(node);
        if self.kind(node) != Kind::Scalar {
            return None;
        }
        match scalar_value(self, node) {
            Ok(ScalarValue::Null) => None,
            Ok(ScalarValue::Str(text)) => Some(text.into_owned()),
            Ok(_) | Err(_) => Some(self.raw(node).to_owned()),
        }
    }

    /// The node one token of a JSON Pointer further down. Aliases and merge keys are followed.
    #[must_use]
    pub fn child(&self, node: NodeId, token: &str) -> Option<NodeId> {
        let node = self.alias_target(node);
        match (self.kind(node), token.parse()) {
            (Kind::Sequence, Ok(index)) => self.items(node).nth(index),
            _ => self.member(node, &unescape(token)),
        }
    }

    /// Returns the first key on the path from a node that its token names only as it is written: `on`, which is read as `true`.
    ///
    /// A patch with such a path is carried out here, but not on the document's JSON: see [`apply`](crate::apply()).
    #[must_use]
    pub fn key_named_as_written(&self, node: NodeId, pointer: &str) -> Option<NodeId> {
        let has_other_name = |token: &str| other_name(&unescape(token)).is_some();
        if !pointer.split('/').any(has_other_name) {
            return None;
        }
        let mut node = node;
        for token in pointer.split('/').skip(1) {
            let name = unescape(token);
            if let Some(member) = self.find_member(node, &name) {
                let key = self.key_of(member.holder, member.value)?;
                if has_other_name(token) && self.style(key) == Style::Plain {
                    return Some(key);
                }
            }
            node = self.child(node, token)?;
        }
        None
    }
}

/// `seen`: a mapping that did not have the key is not asked again, however many merge keys lead to it.
fn find(tree: &Tree<'_>, mapping: NodeId, key: &str, seen: &mut Vec<NodeId>) -> Option<Member> {
    let mapping = tree.alias_target(mapping);
    let (mut found, mut merged): (Option<Member>, Option<NodeId>) = (None, None);
    for (name, value) in tree.entries(mapping) {
        if tree.is_key(name, key) {
            found = Some(Member {
                value,
                holder: mapping,
            });
        } else if is_merge_key(tree, name) {
            merged = Some(value);
        }
    }
    if found.is_some() {
        return found;
    }
    let source = tree.alias_target(merged?);
    if seen.contains(&source) || seen.len() > MAX_MERGES {
        return None;
    }
    seen.push(source);
    match tree.kind(source) {
        Kind::Sequence => tree
            .items(source)
            .find_map(|item| find(tree, item, key, seen)),
        _ => find(tree, source, key, seen),
    }
}

#[cfg(test)]
mod tests {
    use crate::read;

    #[test]
    fn several_members_are_those_that_are_found_one_by_one() {
        const KEYS: [&str; 3] = ["a", "b", "on"];
        for text in [
            "x: {a: 1, b: 2, on: 3}\n",
            "x:\n  a: 1\n  'b': 2\n  a: 3\n",
            "y: &y {a: 1, b: 2}\nx:\n  <<: *y\n  b: 3\n",
            "y: &y {a: 1}\nz: &z {b: 2, a: 3}\nx: {<<: [*y, *z], on: 4}\n",
            "y: &y {a: 1}\nx: *y\n",
            "x: [a, b]\n",
            "x:\n",
        ] {
            let tree = read(text).unwrap();
            let mapping = tree.member(tree.root().unwrap(), "x").unwrap();
            let one_by_one = KEYS.map(|key| tree.member(mapping, key));
            assert_eq!(tree.members(mapping, KEYS), one_by_one, "{text:?}");
        }
    }

    #[test]
    fn a_key_is_found_however_it_is_written() {
        for text in [
            "kind: A\n",
            "&a kind: A\n",
            "!!str kind: A\n",
            "\"\\x6bind\": A\n",
            "? kind\n: A\n",
            "x: &k kind\n*k : A\n",
            "!!binary a2luZA==: A\n",
        ] {
            let tree = read(text).unwrap();
            let kind = tree.member_text(tree.root().unwrap(), "kind");
            assert_eq!(kind.as_deref(), Some("A"), "{text:?}");
        }
    }
}
