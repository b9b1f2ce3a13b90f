//! Reads the Secrets, ConfigMaps and ServiceAccounts of the input that a pod names.

use crate::agent::prerequisites::Requirement;
use crate::checks::{AgentGroup, ProcessedText, namespace_of};
use crate::inject::outcome::Remark;
use config::Config;
use manifest::kustomization::{PREVIOUS_NAMES, previous_names};
use manifest::{
    DEFAULT_NAMESPACE, Identity, ItemCache, Location, RelatedKind, Resource, Source, resource,
    resources,
};
use memchr::memmem::Finder;
use report::Finding;
use std::collections::{HashMap, HashSet};
use yaml_json_patch::{
    self as yaml, Buffer, Kind, NodeId, ScalarValue, Tree, scalar_value, to_json,
};

/// Kind, namespace and name of an object.
type ObjectKey<'n> = (RelatedKind, Option<&'n str>, &'n str);

/// The objects that the pods of all texts name.
pub(super) struct Named<'r> {
    names: HashSet<ObjectKey<'r>>,
    /// Searches for the names, to skip texts without any of them; none if there are so many that parsing is cheaper.
    finders: HashMap<RelatedKind, Option<Vec<Finder<'r>>>>,
}

/// The maximum number of names of one kind to search a text for.
const MAX_FINDERS: usize = 16;

impl<'r> Named<'r> {
    /// Collects the names that the agents of the outcomes need.
    pub(super) fn by(
        inputs: &[ProcessedText<'r>],
        agents: &[AgentGroup<'r>],
        config: &'r Config,
    ) -> Self {
        let mut names = HashSet::new();
        for agent in agents {
            for need in &agent.needs.objects {
                names.insert((
                    RelatedKind::Holds(need.source),
                    agent.namespace,
                    &*need.name,
                ));
            }
        }
        for outcome in inputs.iter().flat_map(|input| &input.injection.outcomes) {
            let Some(account) = outcome.token_of() else {
                continue;
            };
            let of_account = |namespace| (RelatedKind::ServiceAccount, namespace, &*account.name);
            let namespace = namespace_of(outcome, config);
            names.insert(of_account(namespace));
            if namespace.is_none() {
                names.insert(of_account(Some(DEFAULT_NAMESPACE)));
            }
        }
        let mut of_kind: HashMap<RelatedKind, HashSet<&str>> = HashMap::new();
        for (kind, _, name) in &names {
            of_kind.entry(*kind).or_default().insert(name);
        }
        let finders = of_kind
            .into_iter()
            .map(|(kind, names)| {
                let are_few = names.len() <= MAX_FINDERS;
                let of_names = names.into_iter().map(Finder::new);
                (kind, are_few.then(|| of_names.collect()))
            })
            .collect();
        Self { names, finders }
    }

    /// Searches a text for the names of objects of this kind, so that a text without them is not read. A name with escapes is not found.
    fn may_be_in(&self, kind: RelatedKind, text: &str) -> bool {
        let Some(finders) = self.finders.get(&kind) else {
            return false;
        };
        let is_found = |finder: &Finder<'_>| finder.find(text.as_bytes()).is_some();
        finders
            .as_ref()
            .is_none_or(|finders| finders.iter().any(is_found))
    }

    fn has(&self, kind: RelatedKind, namespace: Option<&str>, name: &str) -> bool {
        self.names.contains(&(kind, namespace, name))
    }
}

/// One object of the input, read.
#[derive(Debug)]
pub struct Object {
    pub kind: RelatedKind,
    pub input: usize,
    pub identity: Identity,
    /// The name by which pods refer to it: its own, or one that kustomize has changed.
    pub name: String,
    /// Its own namespace, else the configured one.
    pub namespace: Option<String>,
    pub file: Option<(String, Option<i64>)>,
    /// Offset in its text.
    pub offset: usize,
    pub entries: Vec<DataEntry>,
    /// True if a controller makes the Secret from this resource, which does not list its keys.
    pub is_source: bool,
}

/// A key of a Secret, ConfigMap or ServiceAccount, with its value.
#[derive(Debug, Clone, Default)]
pub struct DataEntry {
    pub key: String,
    /// Its value; none if that is not text.
    pub value: Option<String>,
    /// Offset of its value in the text.
    pub offset: usize,
    /// JSON Pointer from the object.
    pub pointer: String,
}

/// The objects in the order of the texts, and by name.
pub struct Objects<'o> {
    all: &'o [Object],
    named: HashMap<ObjectKey<'o>, Vec<&'o Object>>,
}

impl<'o> Objects<'o> {
    pub(super) fn new(all: &'o [Object]) -> Self {
        let mut named: HashMap<ObjectKey<'o>, Vec<&'o Object>> = HashMap::new();
        for object in all {
            let name = (object.kind, object.namespace.as_deref(), &*object.name);
            named.entry(name).or_default().push(object);
        }
        Self { all, named }
    }

    /// All objects of one kind.
    pub fn of(&self, kind: RelatedKind) -> impl Iterator<Item = &'o Object> {
        self.all.iter().filter(move |object| object.kind == kind)
    }

    /// All objects of a name; the input may hold several.
    pub fn named<'a>(
        &'a self,
        kind: RelatedKind,
        namespace: Option<&'a str>,
        name: &'a str,
    ) -> &'a [&'o Object] {
        self.named
            .get(&(kind, namespace, name))
            .map_or(&[], Vec::as_slice)
    }

    /// The objects that a requirement refers to.
    pub fn required<'a>(&'a self, requirement: &'a Requirement) -> &'a [&'o Object] {
        let Requirement {
            namespace, need, ..
        } = requirement;
        self.named(
            RelatedKind::Holds(need.source),
            namespace.as_deref(),
            &need.name,
        )
    }
}

impl Object {
    /// Returns true if the object has the key, with a value that is not empty or not known.
    pub(super) fn has_value(&self, key: &str) -> bool {
        let is_filled = |value: &Option<String>| value.as_deref() != Some("");
        self.entries
            .iter()
            .any(|entry| entry.key == key && is_filled(&entry.value))
    }

    /// A remark on this object, with the index of its text.
    pub fn remark(&self, finding: Finding) -> (usize, Remark) {
        let remark = Remark {
            identity: self.identity.clone(),
            offset: self.offset,
            file: self.file.clone(),
            finding,
            workloads: Vec::new(),
        };
        (self.input, remark)
    }
}

/// Reads the objects that matter.
pub(super) fn read(
    inputs: &[ProcessedText<'_>],
    named: &Named<'_>,
    config: &Config,
) -> Vec<Object> {
    let mut objects = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let related = &input.injection.related;
        // A document may hold many of them, in a list.
        for locations in related.chunk_by(|one, next| one.piece == next.piece) {
            let mut kinds: HashSet<RelatedKind> =
                locations.iter().map(|location| location.kind).collect();
            let Some(piece) = locations.first().map(|location| location.piece.clone()) else {
                continue;
            };
            let text = input.text.get(piece.clone()).unwrap_or_default();
            kinds.retain(|kind| named.may_be_in(*kind, text));
            if kinds.is_empty() {
                continue;
            }
            // A document that is not valid YAML holds no key for an agent.
            let Ok(tree) = yaml::read_piece(input.text, piece, &mut Buffer::default()) else {
                continue;
            };
            let mut reader = ObjectReader {
                tree: &tree,
                items: ItemCache::default(),
                input: number,
                named,
                config,
            };
            for location in locations {
                if kinds.contains(&location.kind) {
                    objects.extend(reader.object(location));
                }
            }
        }
    }
    objects
}

/// Reads the objects of one document.
struct ObjectReader<'r> {
    tree: &'r Tree<'r>,
    items: ItemCache,
    /// The index of the text.
    input: usize,
    named: &'r Named<'r>,
    config: &'r Config,
}

impl ObjectReader<'_> {
    /// Reads one object; none if no pod names it.
    fn object(&mut self, location: &Location) -> Option<Object> {
        let tree = self.tree;
        let mut node = tree.root()?;
        let mut inherited = location.inherited.as_deref().cloned().unwrap_or_default();
        for token in location.pointer.split('/').skip(1) {
            if token == "items" {
                inherited = resource::item_types(tree, tree.alias_target(node)).unwrap_or_default();
            }
            node = self.items.child(tree, node, token)?;
        }
        let mut resource = resources(tree, node, &inherited).into_iter().next()?;
        let gvk = resource.gvk.as_ref();
        // The mapping with the name of the Secret that a controller makes; by default it is that of the resource.
        let target_path: &[&str] = match gvk.map(|gvk| (&*gvk.group, &*gvk.kind)) {
            None | Some(("", _)) => &[],
            Some(("external-secrets.io", "ExternalSecret")) => &["spec", "target"],
            Some(("bitnami.com", "SealedSecret")) => &["spec", "template", "metadata"],
            Some(_) => return None,
        };
        let is_source = !target_path.is_empty();
        if is_source
            && let Some(target) = tree.member_at(node, target_path.iter().copied())
            && let Some(name) = tree.member_text(target, "name")
        {
            resource.identity.name = name;
        }
        let namespace = resource
            .identity
            .namespace_or(self.config.spec.namespace.as_deref())
            .cloned();
        let name = self.referred_name(location.kind, namespace.as_deref(), &resource)?;
        let entries = if is_source {
            listed_keys(tree, node).unwrap_or_default()
        } else {
            self.data(location, node)
        };
        Some(Object {
            kind: location.kind,
            input: self.input,
            name,
            namespace,
            file: resource::file(tree, node),
            identity: resource.identity,
            offset: tree.place(node).start,
            is_source: is_source && entries.is_empty(),
            entries,
        })
    }

    /// Returns the name by which pods refer to the object: its own, or one from before kustomize has changed it.
    fn referred_name(
        &self,
        kind: RelatedKind,
        namespace: Option<&str>,
        resource: &Resource,
    ) -> Option<String> {
        let own = &resource.identity.name;
        if self.named.has(kind, namespace, own) {
            return Some(own.clone());
        }
        let previous = resource.annotation_text(self.tree, PREVIOUS_NAMES)?;
        previous_names(&previous)
            .find(|name| self.named.has(kind, namespace, name))
            .map(str::to_owned)
    }

    /// Returns the entries that matter of an object of this kind.
    fn data(&self, location: &Location, object: NodeId) -> Vec<DataEntry> {
        let tree = self.tree;
        let field = |key: &str| entries(tree, tree.member(object, key), &format!("/{key}"));
        match location.kind {
            RelatedKind::Holds(Source::Secret) => [field("data"), field("stringData")].concat(),
            RelatedKind::Holds(Source::ConfigMap) => {
                // The text is not the value but its base64.
                let mut binary = field("binaryData");
                binary.iter_mut().for_each(|entry| entry.value = None);
                [field("data"), binary].concat()
            }
            RelatedKind::ServiceAccount => entries(tree, Some(object), ""),
            RelatedKind::Permission => Vec::new(),
        }
    }
}

/// Returns the keys that an ExternalSecret or SealedSecret lists; none where its Secret may get others.
fn listed_keys(tree: &Tree<'_>, object: NodeId) -> Option<Vec<DataEntry>> {
    let spec = to_json(tree, tree.member(object, "spec")?).ok()?;
    let mut others = ["/dataFrom", "/target/template", "/template/data"].iter();
    let policy = spec["target"]["creationPolicy"].as_str().unwrap_or("Owner");
    if policy != "Owner" || others.any(|path| spec.pointer(path).is_some()) {
        return None;
    }
    let sealed = spec["encryptedData"].as_object().into_iter().flatten();
    let external = spec["data"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| item["secretKey"].as_str());
    let keys = sealed.map(|(key, _)| &**key).chain(external);
    let entry = |key: &str| DataEntry {
        key: key.to_owned(),
        ..DataEntry::default()
    };
    Some(keys.map(entry).collect())
}

/// The entries of a mapping.
fn entries(tree: &Tree<'_>, mapping: Option<NodeId>, pointer: &str) -> Vec<DataEntry> {
    let Some(mapping) = mapping else {
        return Vec::new();
    };
    let mut entries = Vec::new();
    for (key, value) in tree.entries(tree.alias_target(mapping)) {
        let Some(key) = tree.scalar(tree.alias_target(key)) else {
            continue;
        };
        // The lines of an alias are those of its anchor.
        let value = tree.alias_target(value);
        entries.push(DataEntry {
            pointer: format!("{pointer}/{}", yaml_json_patch::pointer::escape(&key)),
            key: key.into_owned(),
            value: value_text(tree, value),
            offset: tree.place(value).start,
        });
    }
    entries
}

/// Returns a scalar as a container sees it; none for what is not text.
fn value_text(tree: &Tree<'_>, value: NodeId) -> Option<String> {
    match scalar_value(tree, value) {
        Ok(ScalarValue::Str(text)) if tree.kind(value) == Kind::Scalar => Some(text.into_owned()),
        Ok(ScalarValue::Null) => Some(String::new()),
        Ok(ScalarValue::Bool(set)) => Some(set.to_string()),
        Ok(ScalarValue::Int(_) | ScalarValue::Float(_)) => {
            tree.scalar(value).map(|number| number.into_owned())
        }
        _ => None,
    }
}
