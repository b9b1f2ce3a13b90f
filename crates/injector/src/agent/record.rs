//! The record: an annotation that lists everything an injection added, so that updates and `uninject` can remove it and restore the
//! rest.
//!
//! It is `v1`, the number of the format, and JSON without blanks. So it is a plain scalar of YAML, whose quotes no tool escapes:
//!
//! ```text
//! v1{"agent":{"list":"containers","plan":"3fa9c2d1","value":"77c0b1aa","names":{"image":"0d1e2f3a","secret":"5b6c7d8e"},"volumes":["tmp"]},"created":["annotations","volumes"]}
//! ```
//!
//! It has no program version, path or time: a newer binary that would add the same changes nothing.

use crate::agent::canonical::Digest;
use crate::agent::component_kind::{ComponentKind, ComponentKinds};
use crate::agent::replaceable_names::ReplaceableName;
use config::WaitForPosition;
use mackerel::names::Volume;
use manifest::ContainerList;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use yaml_json_patch::{Kind, NodeId, NullSource, ScalarValue, Tree, scalar_value};

/// The additions of one injection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<ComponentRecord>,
    /// The init container that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_for: Option<ComponentRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secrets: Option<PullSecrets>,
    /// None if there was no `status` annotation before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<OlderStatus>,
    /// Parents that did not exist before.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub created: BTreeSet<Parent>,
    /// Parents that were null or empty before.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced: BTreeMap<Parent, ReplacedParent>,
}

/// The additions for one component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ComponentRecord {
    /// The list that has the container.
    pub list: ContainerList,
    /// Its position among the init containers.
    #[serde(default = "last", skip_serializing_if = "is_last")]
    pub position: WaitForPosition,
    /// Digest of everything added, byte for byte. Another one means that the configuration has changed.
    pub plan: Digest,
    /// Digest of its canonical form without the names. Another one means that it was edited by hand.
    pub value: Digest,
    /// Digests of the configured names. Another one means that a tool has changed the name.
    pub names: BTreeMap<ReplaceableName, Digest>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub volumes: BTreeSet<Volume>,
}

fn last() -> WaitForPosition {
    WaitForPosition::Last
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde demands it")]
fn is_last(position: &WaitForPosition) -> bool {
    *position == WaitForPosition::Last
}

/// A `status` annotation that an injection found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OlderStatus {
    /// It stays when the injection is removed.
    Kept,
}

/// A field of the pod template that must exist before something can be added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Parent {
    /// `/metadata`
    Metadata,
    /// `/metadata/annotations`
    Annotations,
    /// `/spec/initContainers`
    InitContainers,
    /// `/spec/volumes`
    Volumes,
}

impl Parent {
    /// JSON Pointer from the pod template.
    pub fn pointer(self) -> &'static str {
        match self {
            Parent::Metadata => "/metadata",
            Parent::Annotations => "/metadata/annotations",
            Parent::InitContainers => "/spec/initContainers",
            Parent::Volumes => "/spec/volumes",
        }
    }
}

/// Added pull secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PullSecrets {
    /// The number of pull secrets before the added ones.
    pub after: usize,
    /// Their names as configured.
    pub names: Vec<String>,
}

/// The value of a parent before the injection. A null has its source text: see [`NullSource`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplacedParent {
    /// `{}` or `[]`, which lines have replaced.
    Empty,
    /// A null in a block mapping.
    Block(String),
    /// A null in brackets.
    Flow(String),
    /// A null in brackets that is a key without a colon.
    FlowKey,
}

impl From<NullSource> for ReplacedParent {
    fn from(null: NullSource) -> Self {
        match null {
            NullSource::Block(text) => ReplacedParent::Block(text),
            NullSource::Flow(text) => ReplacedParent::Flow(text),
            NullSource::FlowKey => ReplacedParent::FlowKey,
        }
    }
}

impl ReplacedParent {
    /// Returns the source of a null; none for an empty collection.
    pub fn null(&self) -> Option<NullSource> {
        match self {
            ReplacedParent::Empty => None,
            ReplacedParent::Block(text) => Some(NullSource::Block(text.clone())),
            ReplacedParent::Flow(text) => Some(NullSource::Flow(text.clone())),
            ReplacedParent::FlowKey => Some(NullSource::FlowKey),
        }
    }

    /// Returns false for the text of anything but a null: it would change the pod when it is put back.
    fn is_valid(&self) -> bool {
        match self {
            ReplacedParent::Empty | ReplacedParent::FlowKey => true,
            ReplacedParent::Flow(text) => is_null_in_brackets(text),
            ReplacedParent::Block(text) => {
                let line = text.trim_start_matches(['\r', '\n']);
                text.is_empty() || line.starts_with([' ', '\t']) && is_null(line)
            }
        }
    }
}

fn is_null(text: &str) -> bool {
    read_line(text).is_some_and(|tree| tree.root().is_none_or(|root| is_null_node(&tree, root)))
}

/// Returns true for a null as the value of a member in brackets, and nothing more.
fn is_null_in_brackets(text: &str) -> bool {
    let members = format!("{{\"null\":{text},\"next\":1}}");
    let Some(tree) = read_line(&members) else {
        return false;
    };
    let Some(root) = tree.root() else {
        return false;
    };
    // A comment in the text would take the next member along.
    tree.entries(root).count() == 2
        && tree.member(root, "next").is_some()
        && tree
            .member(root, "null")
            .is_some_and(|null| is_null_node(&tree, null))
}

fn read_line(text: &str) -> Option<Tree<'_>> {
    let is_one_line = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    yaml_json_patch::read(text).ok().filter(|_| is_one_line)
}

fn is_null_node(tree: &Tree<'_>, node: NodeId) -> bool {
    tree.kind(node) == Kind::Scalar
        && tree.anchor(node).is_none()
        && scalar_value(tree, node) == Ok(ScalarValue::Null)
}

/// The reason why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordError {
    /// The format is a later version's, whose additions must not be touched.
    Newer,
    /// The text is no record.
    Broken,
}

/// The number of the format.
const FORMAT: u32 = 1;
/// Bytes of a record. Ours have some hundred; a forged one is copied several times.
const MAX_RECORD: usize = 64 << 10;
/// Pull secrets of a record.
const MAX_PULL_SECRETS: usize = 1000;

impl Record {
    /// Parses the text of an annotation.
    ///
    /// # Errors
    /// When the text is no record, or of another format.
    pub fn parse(text: &str) -> Result<Self, RecordError> {
        let versioned = text.strip_prefix('v').ok_or(RecordError::Broken)?;
        let end = versioned
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(versioned.len());
        let (format, json) = versioned.split_at(end);
        match format.parse::<u32>() {
            Ok(FORMAT) => {}
            Ok(_) => return Err(RecordError::Newer),
            Err(_) => return Err(RecordError::Broken),
        }
        if json.len() > MAX_RECORD {
            return Err(RecordError::Broken);
        }
        match serde_json::from_str::<Self>(json) {
            // An injection spells a record in one way. Serde would take lists for structs, and blanks.
            Ok(record) if record.is_valid() && record.to_string() == text => Ok(record),
            _ => Err(RecordError::Broken),
        }
    }

    /// Returns false for what no injection has written.
    fn is_valid(&self) -> bool {
        let components_fit = ComponentKind::ALL.into_iter().all(|kind| {
            self.component(kind).is_none_or(|component| {
                kind.lists().contains(&component.list)
                    && (kind.has_volumes() || component.volumes.is_empty())
            })
        });
        let pull_secrets_fit = self.pull_secrets.as_ref().is_none_or(|added| {
            let count = added.names.len();
            (1..=MAX_PULL_SECRETS).contains(&count) && !added.names.contains(&String::new())
        });
        !self.kinds().is_empty()
            && components_fit
            && pull_secrets_fit
            && self.replaced.values().all(ReplacedParent::is_valid)
    }

    pub fn kinds(&self) -> ComponentKinds {
        ComponentKind::ALL
            .into_iter()
            .filter(|kind| self.component(*kind).is_some())
            .collect()
    }

    pub fn component(&self, kind: ComponentKind) -> Option<&ComponentRecord> {
        match kind {
            ComponentKind::Agent => self.agent.as_ref(),
            ComponentKind::WaitFor => self.wait_for.as_ref(),
        }
    }

    /// Returns the position of the init containers. An agent alone goes after the others.
    pub fn position(&self) -> WaitForPosition {
        self.wait_for
            .as_ref()
            .map_or(WaitForPosition::Last, |wait_for| wait_for.position)
    }

    /// Returns true if a `status` annotation was added. It goes with an agent: the original injector then leaves the pod alone.
    pub(crate) fn added_status(&self) -> bool {
        self.agent.is_some() && self.status.is_none()
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It has no map whose keys are not strings, so that it can always be serialised.
        let json = serde_json::to_string(self).unwrap_or_default();
        write!(f, "v{FORMAT}{json}")
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PULL_SECRETS, MAX_RECORD, Record, RecordError};

    const AGENT: &str = r#""agent":{"list":"initContainers","plan":"4fd0bfc1","value":"4fd0bfc1","names":{"image":"4fd0bfc1","secret":"4fd0bfc1","configMap":"4fd0bfc1"},"volumes":["tmp","config"]}"#;
    const WAIT_FOR: &str = r#""waitFor":{"list":"initContainers","position":"first","plan":"4fd0bfc1","value":"4fd0bfc1","names":{"image":"4fd0bfc1"}}"#;

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let rest = r#""pullSecrets":{"after":2,"names":["team","a.b"]},"status":"kept","created":["metadata","annotations"],"replaced":{"annotations":"empty","initContainers":{"flow":"  ~"},"volumes":{"block":" null"}}"#;
        for text in [
            format!("v1{{{AGENT}}}"),
            format!("v1{{{WAIT_FOR}}}"),
            format!("v1{{{AGENT},{WAIT_FOR},{rest}}}"),
            format!(r#"v1{{{WAIT_FOR},"replaced":{{"metadata":"flowKey"}}}}"#),
        ] {
            assert_eq!(Record::parse(&text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_forged_record_is_broken() {
        let of_wait_for = |rest: &str| format!("v1{{{WAIT_FOR},{rest}}}");
        let pulled =
            |names: &str| of_wait_for(&format!(r#""pullSecrets":{{"after":0,"names":[{names}]}}"#));
        let null = |text: &str| of_wait_for(&format!(r#""replaced":{{"volumes":{text}}}"#));
        for (case, text) in [
            ("no text", String::new()),
            ("no fields", "v1".to_owned()),
            ("no format", format!("{{{AGENT}}}")),
            ("a format without a number", format!("v{{{AGENT}}}")),
            ("other words", "injected".to_owned()),
            (
                "no component",
                r#"v1{"created":["annotations"]}"#.to_owned(),
            ),
            ("an unknown field", of_wait_for(r#""x":1"#)),
            ("a component twice", of_wait_for(WAIT_FOR)),
            (
                "a short digest",
                format!("v1{{{AGENT}}}").replace("4fd0bfc1", "4fd0bfc"),
            ),
            (
                "a missing digest",
                format!("v1{{{AGENT}}}").replace(r#""plan":"4fd0bfc1","#, ""),
            ),
            (
                "an agent that is ephemeral",
                format!("v1{{{AGENT}}}").replace("initC", "ephemeralC"),
            ),
            (
                "a container that waits beside the others",
                format!("v1{{{WAIT_FOR}}}").replace("initC", "c"),
            ),
            (
                "another position",
                format!("v1{{{WAIT_FOR}}}").replace("first", "middle"),
            ),
            (
                "a volume of a container that waits",
                format!("v1{{{WAIT_FOR}}}").replace("}}", r#"},"volumes":["tmp"]}"#),
            ),
            ("an unknown parent", of_wait_for(r#""created":["spec"]"#)),
            ("no pull secret", pulled("")),
            ("a pull secret without a name", pulled(r#""""#)),
            (
                "too many pull secrets",
                pulled(&(r#""a","#.repeat(MAX_PULL_SECRETS) + r#""a""#)),
            ),
            (
                "too long",
                pulled(&format!(r#""{}""#, "a".repeat(MAX_RECORD))),
            ),
            (
                "a component as a list",
                r#"v1{"waitFor":["initContainers","last","4fd0bfc1","4fd0bfc1",{"image":"4fd0bfc1"},[]]}"#
                    .to_owned(),
            ),
            ("a record as a list", format!("v1[null,{{{WAIT_FOR}}}]")),
            ("a number with zeros", format!("v001{{{WAIT_FOR}}}")),
            ("a blank", format!("v1 {{{WAIT_FOR}}}")),
            (
                "a digest with a sign",
                format!("v1{{{WAIT_FOR}}}").replace("4fd0bfc1", "+fd0bfc1"),
            ),
            ("a null with a comment", null(r##"{"flow":" ~ # x"}"##)),
            ("a null that is a comment", null(r##"{"flow":"# x"}"##)),
            ("a null with an anchor", null(r#"{"block":" &a ~"}"#)),
            ("a null that is a marker", null(r#"{"flow":"---"}"#)),
            ("a null that is a word", null(r#"{"block":" x"}"#)),
            ("a null that is a mapping", null(r#"{"block":" { a }"}"#)),
            ("a null on the colon", null(r#"{"block":"null"}"#)),
            ("a null on two lines", null(r#"{"block":" null\na: b"}"#)),
            ("a null without a place", null(r#"" null""#)),
        ] {
            assert_eq!(
                Record::parse(&text),
                Err(RecordError::Broken),
                "{case}: {text}"
            );
        }
    }

    #[test]
    fn a_later_format_is_told_from_a_broken_record() {
        for text in ["v2{}", "v9;from=the-future", "v10"] {
            assert_eq!(Record::parse(text), Err(RecordError::Newer), "{text}");
        }
    }
}
