//! The other resources of an input that say whether the injected pods will start: Secrets, ConfigMaps, quotas.
//!
//! They are not read on the way, since most of them have nothing to do with an agent: an injection only notes where they
//! stand, and those that may matter are read when everything else is done.

use crate::config::Config;
use crate::find::{member, step};
use crate::inject::Injection;
use crate::lint;
use crate::needs::{Need, Source};
use crate::report::{Finding, Identity, Remark};
use crate::resource::{self, file, resources};
use crate::yaml::{self, Kind, NodeId, Resolved, Style, Tree, resolve};
use kube_core::TypeMeta;
use std::collections::HashSet;
use std::ops::Range;

/// The kinds that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surrounding {
    /// May hold a key that an agent needs.
    Holds(Source),
    /// May refuse a pod whose containers do not say what they take.
    Quota,
    /// May say for them what they take.
    LimitRange,
    /// May give its pods no token.
    ServiceAccount,
}

impl Surrounding {
    /// By a resource's kind. All of them are of the core group, which is for whoever reads the resource to check.
    #[must_use]
    pub fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "Secret" => Some(Surrounding::Holds(Source::Secret)),
            "ConfigMap" => Some(Surrounding::Holds(Source::ConfigMap)),
            "ResourceQuota" => Some(Surrounding::Quota),
            "LimitRange" => Some(Surrounding::LimitRange),
            "ServiceAccount" => Some(Surrounding::ServiceAccount),
            _ => None,
        }
    }
}

/// Where one of them stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// What it is.
    pub surrounding: Surrounding,
    /// Bytes of the document, or of the item of a list, that it stands in.
    pub piece: Range<usize>,
    /// JSON Pointer from the piece's root.
    pub pointer: String,
}

/// One text of a run and what became of it.
#[derive(Debug, Clone, Copy)]
pub struct Part<'r> {
    /// The text.
    pub text: &'r str,
    /// What it gave.
    pub injection: &'r Injection,
}

/// Something that the injected pods of one namespace need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The namespace; none where neither resource nor configuration names it.
    pub namespace: Option<String>,
    /// What they need.
    pub need: Need,
    /// Whether the input has it.
    pub presence: Presence,
}

/// Whether the input has what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It has not: it must be in the cluster, or come from elsewhere.
    Absent,
    /// It has, here.
    Present {
        /// Which text.
        part: usize,
        /// Byte offset of the object in it.
        offset: usize,
    },
    /// The object is there, but without the key.
    WithoutKey,
}

impl Presence {
    /// As reports say it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Presence::Absent => "not in the input",
            Presence::Present { .. } => "in the input",
            Presence::WithoutKey => "in the input, without that key",
        }
    }
}

/// One object of the input, read.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) surrounding: Surrounding,
    pub(crate) part: usize,
    pub(crate) identity: Identity,
    /// Its own, else the configured one.
    pub(crate) namespace: Option<String>,
    pub(crate) file: Option<(String, Option<i64>)>,
    /// Where it stands in its text.
    pub(crate) offset: usize,
    pub(crate) entries: Vec<Entry>,
}

/// A key of a Secret or ConfigMap, a line of a quota, a default of a LimitRange.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Its value, where that is text.
    pub(crate) value: Option<String>,
    /// Where its value stands in the part's text.
    pub(crate) offset: usize,
    /// How the value is written.
    pub(crate) style: Style,
    /// JSON Pointer from the object.
    pub(crate) pointer: String,
}

/// What the surroundings say.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// What the injected pods need: by namespace, then in the order of the texts.
    pub requirements: Vec<Requirement>,
    /// What is wrong with what is there, each with the text that it stands in.
    pub remarks: Vec<(usize, Remark)>,
}

/// Looks at what surrounds the injected pods of all texts of a run.
#[must_use]
pub fn look(parts: &[Part<'_>], config: &Config) -> Surroundings {
    let mut requirements: Vec<Requirement> = Vec::new();
    let mut known = HashSet::new();
    for part in parts {
        for outcome in &part.injection.outcomes {
            let Some(needs) = &outcome.needs else { continue };
            let namespace = outcome.identity.namespace_in(config);
            for need in &needs.objects {
                if known.insert((namespace, need)) {
                    let (namespace, need) = (namespace.cloned(), need.clone());
                    requirements.push(Requirement { namespace, need, presence: Presence::Absent });
                }
            }
        }
    }
    if !has_agents(parts) {
        return Surroundings::default();
    }
    requirements.sort_by(|one, other| one.namespace.cmp(&other.namespace));
    let objects = read(parts, &requirements, config);
    for requirement in &mut requirements {
        requirement.presence = presence(requirement, &objects);
    }
    let remarks = lint::surroundings(parts, &objects, &requirements, config);
    Surroundings { requirements, remarks }
}

fn has_agents(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| part.injection.outcomes.iter().any(|outcome| outcome.needs.is_some()))
}

fn presence(requirement: &Requirement, objects: &[Object]) -> Presence {
    let mut presence = Presence::Absent;
    for object in objects.iter().filter(|object| object.is(requirement)) {
        let is_filled = |entry: &Entry| entry.value.as_ref().is_none_or(|value| !value.is_empty());
        let has = |key: &String| object.entries.iter().any(|entry| entry.key == *key && is_filled(entry));
        let (part, offset) = (object.part, object.offset);
        if requirement.need.key.as_ref().is_none_or(has) {
            return Presence::Present { part, offset };
        }
        presence = Presence::WithoutKey;
    }
    presence
}

impl Object {
    /// Something about it.
    pub(crate) fn remark(&self, finding: Finding) -> (usize, Remark) {
        let (identity, file) = (self.identity.clone(), self.file.clone());
        (self.part, Remark { identity, offset: self.offset, file, finding })
    }

    /// True for the object that is required.
    pub(crate) fn is(&self, requirement: &Requirement) -> bool {
        self.surrounding == Surrounding::Holds(requirement.need.source)
            && self.identity.name == requirement.need.name
            && self.namespace == requirement.namespace
    }
}

/// Reads the objects that may matter: of Secrets and ConfigMaps those in whose text a required name stands.
fn read(parts: &[Part<'_>], requirements: &[Requirement], config: &Config) -> Vec<Object> {
    let mut names: Vec<&str> = requirements.iter().map(|requirement| &*requirement.need.name).collect();
    names.sort_unstable();
    names.dedup();
    let finders: Vec<_> = names.iter().map(|name| memchr::memmem::Finder::new(name.as_bytes())).collect();
    let mut objects = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        for spot in &part.injection.surroundings {
            let text = part.text.get(spot.piece.clone()).unwrap_or_default();
            let may_matter = match spot.surrounding {
                Surrounding::Holds(_) => finders.iter().any(|finder| finder.find(text.as_bytes()).is_some()),
                Surrounding::Quota | Surrounding::LimitRange | Surrounding::ServiceAccount => true,
            };
            if may_matter {
                objects.extend(object(text, spot, number, config));
            }
        }
    }
    objects
}

/// None for what cannot be read: a document that is no YAML is not the place of an agent's key.
fn object(text: &str, spot: &Spot, part: usize, config: &Config) -> Option<Object> {
    let tree = yaml::read(text).ok()?;
    let mut node = tree.root()?;
    for token in spot.pointer.split('/').skip(1) {
        node = step(&tree, node, token)?;
    }
    let resource = resources(&tree, node, &TypeMeta::default()).into_iter().next()?;
    if resource.gvk.as_ref().is_some_and(|gvk| !gvk.group.is_empty()) {
        return None;
    }
    let mut object = Object {
        surrounding: spot.surrounding,
        part,
        namespace: resource.identity.namespace_in(config).cloned(),
        file: file(&tree, node),
        identity: resource.identity,
        offset: spot.piece.start + tree.span(node).start,
        entries: Vec::new(),
    };
    match spot.surrounding {
        Surrounding::Holds(Source::Secret) => {
            for field in ["data", "stringData"] {
                object.add(&tree, spot, member(&tree, node, field), &format!("/{field}"));
            }
        }
        Surrounding::Holds(Source::ConfigMap) => {
            object.add(&tree, spot, member(&tree, node, "data"), "/data");
            let known = object.entries.len();
            object.add(&tree, spot, member(&tree, node, "binaryData"), "/binaryData");
            // What stands there is not the value but its base64.
            object.entries.iter_mut().skip(known).for_each(|entry| entry.value = None);
        }
        Surrounding::ServiceAccount => object.add(&tree, spot, Some(node), ""),
        Surrounding::Quota => {
            let below = |key: &str| member(&tree, member(&tree, node, "spec")?, key).map(|found| tree.resolve(found));
            // One with a scope counts some pods only.
            let has_scope = ["scopes", "scopeSelector"]
                .into_iter()
                .filter_map(below)
                .any(|scope| tree.items(scope).next().is_some() || tree.entries(scope).next().is_some());
            let hard = below("hard").filter(|_| !has_scope);
            object.add(&tree, spot, hard, "/spec/hard");
        }
        Surrounding::LimitRange => {
            let limits = member(&tree, node, "spec").and_then(|spec| member(&tree, spec, "limits"));
            for (index, item) in limits.into_iter().flat_map(|limits| tree.items(tree.resolve(limits))).enumerate() {
                if resource::text(&tree, item, "type").as_deref() == Some("Container") {
                    for field in ["default", "defaultRequest", "max", "min"] {
                        let pointer = format!("/spec/limits/{index}/{field}");
                        object.add(&tree, spot, member(&tree, item, field), &pointer);
                    }
                }
            }
        }
    }
    Some(object)
}

impl Object {
    fn add(&mut self, tree: &Tree<'_>, spot: &Spot, mapping: Option<NodeId>, pointer: &str) {
        let Some(mapping) = mapping.map(|mapping| tree.resolve(mapping)) else { return };
        if tree.kind(mapping) != Kind::Mapping {
            return;
        }
        for (key, value) in tree.entries(mapping) {
            let Some(key) = tree.scalar(tree.resolve(key)).map(|key| key.into_owned()) else { continue };
            let pointer = format!("{pointer}/{}", crate::patch::escape(&key));
            // Behind an alias the value's lines are those of its anchor.
            let value = tree.resolve(value);
            let offset = spot.piece.start + tree.span(value).start;
            let style = tree.style(value);
            let value = match resolve(tree, value) {
                Ok(Resolved::Str(text)) if tree.kind(value) == Kind::Scalar => Some(text.into_owned()),
                Ok(Resolved::Null) => Some(String::new()),
                Ok(Resolved::Bool(set)) => Some(set.to_string()),
                _ => None,
            };
            self.entries.push(Entry { key, value, offset, style, pointer });
        }
    }
}
