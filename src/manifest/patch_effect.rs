//! The fields that a kustomization replaces, removes or sets: by JSON Patch (RFC 6902), as a strategic merge patch, or by
//! `commonAnnotations`.

use crate::manifest::identity::Identity;
use crate::manifest::kustomize_names::{NameAffixes, NameChanges};
use crate::manifest::resource::text;
use regex_automata::meta::Regex;
use std::borrow::Cow;
use yaml_json_patch::pointer::escape;
use yaml_json_patch::{self as yaml, Kind, NodeId, ScalarValue, Tree, scalar_value};

/// The objects that a patch changes. As in kustomize, each field is a regular expression for the whole value; an empty one
/// matches any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchTarget {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    /// True if kustomize also looks at the names between the original and the current one.
    by_any_name: bool,
    /// `namePrefix` and `nameSuffix` of its own kustomization, if they come before the patch.
    earlier_affixes: NameAffixes,
}

impl PatchTarget {
    /// Reads the `target` of an entry. Selectors of labels and annotations count as matching: lower layers may add both.
    pub(crate) fn of(tree: &Tree<'_>, node: NodeId) -> Self {
        let field = |key| Pattern::of(text(tree, node, key).unwrap_or_default());
        Self {
            group: field("group"),
            version: field("version"),
            kind: field("kind"),
            name: field("name"),
            namespace: field("namespace"),
            by_any_name: false,
            earlier_affixes: NameAffixes::default(),
        }
    }

    /// Returns the target of a patch that kustomize applies after `namePrefix` and `nameSuffix` of its kustomization.
    pub(crate) fn after(self, earlier_affixes: NameAffixes) -> Self {
        Self {
            earlier_affixes,
            ..self
        }
    }

    /// Reads the target that a strategic merge patch names itself.
    fn of_merge(tree: &Tree<'_>, root: NodeId) -> Option<Self> {
        let metadata = tree.member(root, "metadata")?;
        let api_version = text(tree, root, "apiVersion").unwrap_or_default();
        Some(Self {
            group: Pattern::of(
                api_version
                    .split_once('/')
                    .map(|(group, _)| group.to_owned())
                    .unwrap_or_default(),
            ),
            version: Pattern::default(),
            kind: Pattern::of(text(tree, root, "kind")?),
            name: Pattern::of(text(tree, metadata, "name")?),
            namespace: Pattern::of(text(tree, metadata, "namespace").unwrap_or_default()),
            by_any_name: true,
            earlier_affixes: NameAffixes::default(),
        })
    }

    /// Returns true if the patch changes this object on one of the ways to its kustomization. A lower layer may set the namespace
    /// of an object without one.
    pub(crate) fn matches(&self, object: &Identity, ways: &[NameChanges]) -> bool {
        let (group, version) = object
            .api_version
            .split_once('/')
            .unwrap_or(("", &object.api_version));
        self.kind.is_match(&object.kind)
            && self.matches_name(&object.name, ways)
            && self.group.is_match(group)
            && self.version.is_match(version)
            && object
                .namespace
                .as_ref()
                .is_none_or(|namespace| self.namespace.is_match(namespace))
    }

    fn matches_name(&self, original: &str, ways: &[NameChanges]) -> bool {
        let current = |changes: &NameChanges| {
            let name = changes
                .last()
                .map_or_else(|| original.to_owned(), |affixes| affixes.around(original));
            self.earlier_affixes.around(&name)
        };
        self.name.is_match(original)
            || ways
                .iter()
                .any(|changes| self.name.is_match(&current(changes)))
            || self.by_any_name
                && ways
                    .iter()
                    .flatten()
                    .any(|affixes| self.name.is_match(&affixes.around(original)))
    }
}

/// A field of a target.
#[derive(Debug, Clone, Default)]
struct Pattern {
    text: String,
    /// None if the text matches only itself. kustomize rejects an invalid pattern.
    regex: Option<Regex>,
}

impl Pattern {
    /// Compiles the pattern: it is compared with every object.
    fn of(text: String) -> Self {
        // As in Go, `\d` and `\w` are of ASCII.
        let syntax = regex_automata::util::syntax::Config::new()
            .unicode(false)
            .utf8(false);
        let is_literal = text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let compile = || {
            Regex::builder()
                .syntax(syntax)
                .build(&format!("^(?:{text})$"))
                .ok()
        };
        Self {
            regex: if is_literal { None } else { compile() },
            text,
        }
    }

    /// Returns true if the pattern is empty or matches the whole value.
    fn is_match(&self, value: &str) -> bool {
        self.text.is_empty()
            || self.text == value
            || self
                .regex
                .as_ref()
                .is_some_and(|regex| regex.is_match(value))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

/// A field that a kustomization changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchEffect {
    pub(crate) target: PatchTarget,
    /// JSON Pointer from the target.
    pub(crate) pointer: String,
    pub(crate) change: FieldChange,
    /// Byte offset of the operation, directive or value in the patch or kustomization.
    pub(crate) offset: usize,
}

/// The change of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldChange {
    /// It is replaced or removed with all that it contains.
    Replaced,
    /// It is a list that loses the item of this name.
    ItemDeleted(String),
    /// It is set to this scalar.
    Set(String),
}

/// Returns the fields that a patch replaces or removes, and those with this key that it sets. A strategic merge patch names its
/// target itself, if `target` does not.
pub(crate) fn effects(patch: &str, target: Option<&PatchTarget>, key: &str) -> Vec<PatchEffect> {
    let suffix = format!("/{}", escape(key));
    let mut found = Vec::new();
    for document in yaml::documents(patch) {
        let base = document.span.start;
        let Ok(tree) = yaml::read(&patch[document.span]) else {
            continue;
        };
        let Some(root) = tree.root() else { continue };
        let mut add = |target: &PatchTarget, pointer: String, change: FieldChange, node: NodeId| {
            found.push(PatchEffect {
                target: target.clone(),
                pointer,
                change,
                offset: base + tree.span(node).start,
            });
        };
        let search = |merges_lists| MergeSearch {
            tree: &tree,
            suffix: &suffix,
            merges_lists,
            found: Vec::new(),
        };
        if tree.kind(root) == Kind::Sequence {
            let Some(target) = target else { continue };
            for operation in tree.items(root) {
                let is_change = matches!(
                    text(&tree, operation, "op").as_deref(),
                    Some("add" | "replace" | "remove")
                );
                let Some(path) = text(&tree, operation, "path").filter(|_| is_change) else {
                    continue;
                };
                let mut set = search(true);
                if let Some(value) = tree.member(operation, "value") {
                    set.look(value, path.clone());
                }
                for (pointer, change, _) in set.found {
                    add(target, pointer, change, operation);
                }
                add(target, path, FieldChange::Replaced, operation);
            }
            continue;
        }
        let own = || PatchTarget::of_merge(&tree, root).map(Cow::Owned);
        let Some(target) = target.map(Cow::Borrowed).or_else(own) else {
            continue;
        };
        let merges_lists =
            text(&tree, root, "apiVersion").is_none_or(|version| is_built_in(&version));
        let mut search = search(merges_lists);
        search.look(root, String::new());
        for (pointer, change, node) in search.found {
            add(&target, pointer, change, node);
        }
    }
    found
}

/// The pod templates in which `commonAnnotations` sets annotations, by a pattern of kinds.
const ANNOTATED_TEMPLATES: [(&str, &str); 3] = [
    ("Pod", ""),
    ("CronJob", "/spec/jobTemplate/spec/template"),
    (
        "DaemonSet|Deployment|Job|ReplicaSet|ReplicationController|StatefulSet",
        "/spec/template",
    ),
];

/// Returns the annotations with this key that the `commonAnnotations` of a kustomization set in pod templates.
pub(crate) fn common_annotations(kustomization: &str, key: &str) -> Vec<PatchEffect> {
    let mut found = Vec::new();
    for document in yaml::documents(kustomization) {
        let base = document.span.start;
        let Ok(tree) = yaml::read(&kustomization[document.span]) else {
            continue;
        };
        let Some(annotations) = tree
            .root()
            .and_then(|root| tree.member(root, "commonAnnotations"))
        else {
            continue;
        };
        let value = tree
            .member(annotations, key)
            .zip(text(&tree, annotations, key));
        found.extend(value.into_iter().flat_map(|(node, value)| {
            ANNOTATED_TEMPLATES.map(|(kinds, template)| PatchEffect {
                target: PatchTarget {
                    kind: Pattern::of(kinds.to_owned()),
                    ..PatchTarget::default()
                },
                pointer: format!("{template}/metadata/annotations/{}", escape(key)),
                change: FieldChange::Set(value.clone()),
                offset: base + tree.span(node).start,
            })
        }));
    }
    found
}

/// Returns true for an API version whose lists have merge keys. kustomize replaces the lists of other kinds.
fn is_built_in(api_version: &str) -> bool {
    matches!(
        api_version.split_once('/'),
        None | Some(("apps" | "batch" | "extensions", _))
    )
}

struct MergeSearch<'a, 't> {
    tree: &'a Tree<'t>,
    /// Last token of the pointers to fields of which the value matters.
    suffix: &'a str,
    merges_lists: bool,
    found: Vec<(String, FieldChange, NodeId)>,
}

impl MergeSearch<'_, '_> {
    fn look(&mut self, node: NodeId, pointer: String) {
        let tree = self.tree;
        let node = tree.alias_target(node);
        let is_directive = |mapping: NodeId| {
            matches!(
                text(tree, mapping, "$patch").as_deref(),
                Some("replace" | "delete")
            )
        };
        match tree.kind(node) {
            // At the root, kustomize deletes the object, or merges as without the directive.
            Kind::Mapping if is_directive(node) && !pointer.is_empty() => {
                self.add(pointer, FieldChange::Replaced, node)
            }
            Kind::Mapping => {
                for (key, value) in tree.entries(node) {
                    let Some(key) = tree.scalar(key) else {
                        continue;
                    };
                    self.look(value, format!("{pointer}/{}", escape(&key)));
                }
            }
            Kind::Sequence => {
                // Within a list, the directive without a name is about the list.
                let is_whole =
                    |item: &NodeId| is_directive(*item) && tree.member(*item, "name").is_none();
                if let Some(item) = tree
                    .items(node)
                    .map(|item| tree.alias_target(item))
                    .find(is_whole)
                {
                    self.add(pointer, FieldChange::Replaced, item);
                } else if !self.merges_lists {
                    self.add(pointer, FieldChange::Replaced, node);
                } else {
                    for item in tree.items(node).map(|item| tree.alias_target(item)) {
                        // kustomize merges an item with `$patch: replace`.
                        let is_deleted = text(tree, item, "$patch").as_deref() == Some("delete");
                        if let Some(name) = text(tree, item, "name").filter(|_| is_deleted) {
                            self.add(pointer.clone(), FieldChange::ItemDeleted(name), item);
                        }
                    }
                }
            }
            Kind::Scalar => match scalar_value(tree, node) {
                Ok(ScalarValue::Null) => self.add(pointer, FieldChange::Replaced, node),
                value if pointer.ends_with(self.suffix) => {
                    let value = if let Ok(ScalarValue::Str(text)) = value {
                        text.into_owned()
                    } else {
                        tree.raw(node).to_owned()
                    };
                    self.add(pointer, FieldChange::Set(value), node);
                }
                _ => {}
            },
            Kind::Alias => {}
        }
    }

    fn add(&mut self, pointer: String, change: FieldChange, node: NodeId) {
        self.found.push((pointer, change, node));
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldChange, PatchTarget, Pattern, effects};
    use crate::manifest::identity::Identity;

    #[test]
    fn what_is_replaced_or_removed_is_found_with_its_place() {
        let (kind, name) = (
            Pattern::of("Deployment".to_owned()),
            Pattern::of("web".to_owned()),
        );
        let web = PatchTarget {
            kind,
            name,
            ..PatchTarget::default()
        };
        let head = |version: &str| {
            format!("apiVersion: {version}\nkind: Deployment\nmetadata: {{name: web}}\n")
        };
        for (patch, expected) in [
            (
                "- {op: add, path: /a/-, value: 1}\n- {op: test, path: /b}\n- op: remove\n  path: /c\n".to_owned(),
                &["/a/-", "/c"][..],
            ),
            ("[{\"op\": \"replace\", \"path\": \"/a\", \"value\": {}}]".to_owned(), &["/a"]),
            (
                head("apps/v1") + "spec: {a: [{name: b}], c: null, d: {$patch: replace, e: 1}}\n",
                &["/spec/c", "/spec/d"],
            ),
            (
                head("apps/v1")
                    + "spec:\n  a:\n  - $patch: replace\n  - name: b\n  c:\n  - {$patch: delete, name: d}\n",
                &["/spec/a"],
            ),
            (head("argoproj.io/v1alpha1") + "spec: {a: [{name: b}]}\n", &["/spec/a"]),
            ("a: [\n".to_owned(), &[]),
        ] {
            let found = effects(&patch, Some(&web), "e");
            let replaced: Vec<_> = found.iter().filter(|effect| effect.change == FieldChange::Replaced).collect();
            assert_eq!(replaced.iter().map(|effect| &*effect.pointer).collect::<Vec<_>>(), expected, "{patch}");
            let is_merge = patch.starts_with("apiVersion");
            let own = effects(&patch, None, "e");
            assert_eq!(own.len(), if is_merge { found.len() } else { 0 }, "{patch}");
            assert!(own.iter().all(|effect| effect.target.kind == web.kind && effect.target.name == web.name));
        }
    }

    #[test]
    fn an_item_that_is_deleted_is_found_by_its_name() {
        let patch = "apiVersion: apps/v1\nspec: {a: [{name: b, $patch: delete}, {name: c, $patch: replace}, {$patch: delete}]}\n";
        let found = effects(patch, Some(&PatchTarget::default()), "e");
        assert!(
            found
                .iter()
                .all(|effect| effect.change == FieldChange::Replaced),
            "the whole list: {found:?}"
        );
        let found = effects(
            &patch.replace(", {$patch: delete}", ""),
            Some(&PatchTarget::default()),
            "e",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (&*found[0].pointer, &found[0].change),
            ("/spec/a", &FieldChange::ItemDeleted("b".to_owned()))
        );
    }

    #[test]
    fn the_value_of_the_key_is_found_in_both_forms() {
        let merge = "kind: Pod\nmetadata: {name: web, annotations: {x.io/a: \"no\", b: c}}\n";
        let json = "- {op: add, path: /metadata/annotations/x.io~1a, value: \"no\"}\n";
        let parent = "- {op: add, path: /metadata/annotations, value: {x.io/a: \"no\", b: c}}\n";
        let not_text = "- {op: replace, path: /metadata/annotations/x.io~1a, value: No}\n";
        for (patch, expected) in [
            (merge, "no"),
            (json, "no"),
            (parent, "no"),
            (not_text, "No"),
        ] {
            let found = effects(patch, Some(&PatchTarget::default()), "x.io/a");
            let set: Vec<_> = found
                .iter()
                .filter(|effect| effect.change != FieldChange::Replaced)
                .collect();
            assert_eq!(set.len(), 1, "{found:?}");
            assert_eq!(set[0].pointer, "/metadata/annotations/x.io~1a");
            assert_eq!(set[0].change, FieldChange::Set(expected.to_owned()));
        }
    }

    #[test]
    fn a_target_matches_whole_fields_and_an_object_without_a_namespace() {
        let object = |namespace: Option<&str>| Identity {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "web-1".to_owned(),
            namespace: namespace.map(str::to_owned),
            is_generated: false,
        };
        for (target, expected) in [
            ("{}", true),
            ("{name: 'web-\\d'}", true),
            ("{name: 'web|web-1'}", true),
            ("{name: web.1}", true),
            ("{name: web}", false),
            ("{name: '('}", false),
            ("{kind: De.*t, group: apps, version: v1}", true),
            ("{version: v2}", false),
            ("{namespace: shop}", true),
            ("{namespace: sho}", false),
        ] {
            let tree = yaml_json_patch::read(target).unwrap();
            let target = PatchTarget::of(&tree, tree.root().unwrap());
            assert_eq!(
                target.matches(&object(Some("shop")), &[]),
                expected,
                "{target:?}"
            );
            assert!(
                target.namespace.text.is_empty() || target.matches(&object(None), &[]),
                "a lower layer may set it"
            );
        }
    }
}
