//! The record: an annotation that lists everything an injection added, so that updates and `uninject` can remove it and restore the
//! rest.
//!
//! ```text
//! v1;agent=container;plan=3fa9c2d1;value=77c0b1aa;image=0d1e2f3a;secret=5b6c7d8e;volumes=tmp;created=annotations+volumes
//! ```
//!
//! - `agent`: `container` or `native`
//! - `plan`: digest of everything added, byte for byte; another one means that the configuration has changed
//! - `value`: digest of its canonical form without the names below; another one means drift
//! - `image`, `secret`, `config`: digests of the configured names; another one means that a tool has changed the name
//! - `volumes`: the added volumes
//! - `wait-for`: the init container: `first` or `last`, and its own `plan`, `value` and `image`; alone if there is no agent
//! - `pull`: the number of pull secrets before the added ones, and the names of these
//! - `created`: parents that did not exist before
//! - `status`: `kept` if a stale `status` annotation existed before and stays
//! - `was`: parents that were null, with the percent-encoded text of the null (`flow:` in front of it in brackets, `key` for a key
//!   without a colon), or `{}` or `[]` that lines have replaced (`empty`)
//!
//! It has no program version, path or time: a newer binary that would add the same changes nothing.

use crate::agent::canonical::Digest;
use crate::agent::components::Components;
use crate::config::WaitForPosition;
use crate::mackerel::names::{Sidecar, Volume};
use std::fmt;
use yaml_json_patch::{Kind, NullSource, ScalarValue, scalar_value};

/// A field of the pod template that must exist before something can be added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Parent {
    /// `/metadata`
    Metadata,
    /// `/metadata/annotations`
    Annotations,
    /// `/spec/volumes`
    Volumes,
    /// `/spec/initContainers`
    InitContainers,
}

impl Parent {
    const ALL: [Parent; 4] = [
        Parent::Metadata,
        Parent::Annotations,
        Parent::Volumes,
        Parent::InitContainers,
    ];

    /// JSON Pointer from the pod template.
    pub(crate) fn pointer(self) -> &'static str {
        match self {
            Parent::Metadata => "/metadata",
            Parent::Annotations => "/metadata/annotations",
            Parent::Volumes => "/spec/volumes",
            Parent::InitContainers => "/spec/initContainers",
        }
    }

    /// Its key, which is also its name in the record.
    pub(crate) fn key(self) -> &'static str {
        self.pointer().rsplit('/').next().unwrap_or_default()
    }
}

/// Added pull secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullSecrets {
    /// The number of pull secrets before the added ones.
    pub(crate) behind: usize,
    /// Their names as configured.
    pub(crate) names: Vec<String>,
}

/// The value of a parent before the injection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OriginalParent {
    /// `{}` or `[]`, which lines have replaced.
    Empty,
    Null(NullSource),
}

impl fmt::Display for OriginalParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OriginalParent::Empty => f.write_str("empty"),
            OriginalParent::Null(NullSource::Block(text)) => f.write_str(&encode(text)),
            OriginalParent::Null(NullSource::Flow(text)) => write!(f, "flow:{}", encode(text)),
            OriginalParent::Null(NullSource::FlowKey) => f.write_str("key"),
        }
    }
}

/// A parsed record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) components: Components<AgentRecord, WaitForRecord>,
    /// The added pull secrets, if any.
    pub(crate) pull_secrets: Option<PullSecrets>,
    /// Created parents.
    pub(crate) created: Vec<Parent>,
    /// Parents that were null or empty.
    pub(crate) was: Vec<(Parent, OriginalParent)>,
}

/// The fields of a record about the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentRecord {
    /// The kind of sidecar.
    pub(crate) sidecar: Sidecar,
    /// Digest of everything added, byte for byte.
    pub(crate) plan: Digest,
    /// Digest of the canonical form without names.
    pub(crate) value: Digest,
    /// Digest of the configured image.
    pub(crate) image: Digest,
    /// Digest of the Secret's configured name.
    pub(crate) secret: Digest,
    /// Digest of the ConfigMap's configured name.
    pub(crate) config: Option<Digest>,
    pub(crate) volumes: Vec<Volume>,
    /// True if the `status` annotation was added, and not there before.
    pub(crate) status_is_added: bool,
}

/// The fields of a record about the init container that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitForRecord {
    /// Its position among the init containers.
    pub(crate) position: WaitForPosition,
    /// Digest of everything added, byte for byte.
    pub(crate) plan: Digest,
    /// Digest of the canonical form without the image.
    pub(crate) value: Digest,
    /// Digest of the configured image.
    pub(crate) image: Digest,
}

impl Record {
    /// Returns the value of a parent before the injection; none unless it was null or empty.
    pub(crate) fn original(&self, parent: Parent) -> Option<&OriginalParent> {
        let mut originals = self.was.iter();
        originals
            .find(|(known, _)| *known == parent)
            .map(|(_, original)| original)
    }

    /// Returns the position of the init containers. An agent alone goes after the others.
    pub(crate) fn position(&self) -> WaitForPosition {
        self.components
            .wait_for()
            .map_or(WaitForPosition::Last, |wait_for| wait_for.position)
    }
}

/// The only format so far. Another number is a later version's, whose additions must not be touched.
const FORMAT: &str = "v1";

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMAT)?;
        let agent = self.components.agent();
        if let Some(agent) = agent {
            let sidecar = match agent.sidecar {
                Sidecar::Container => "container",
                Sidecar::Native => "native",
            };
            write!(
                f,
                ";agent={sidecar};plan={};value={}",
                agent.plan, agent.value
            )?;
            write!(f, ";image={};secret={}", agent.image, agent.secret)?;
            if let Some(config) = agent.config {
                write!(f, ";config={config}")?;
            }
            list(
                f,
                "volumes",
                agent.volumes.iter().map(|volume| short(*volume).to_owned()),
            )?;
        }
        if let Some(WaitForRecord {
            position,
            plan,
            value,
            image,
        }) = self.components.wait_for()
        {
            write!(f, ";wait-for={position}:{plan}:{value}:{image}")?;
        }
        if let Some(PullSecrets { behind, names }) = &self.pull_secrets {
            write!(f, ";pull={behind}:{}", names.join("+"))?;
        }
        if agent.is_some_and(|agent| !agent.status_is_added) {
            f.write_str(";status=kept")?;
        }
        list(
            f,
            "created",
            self.created.iter().map(|parent| parent.key().to_owned()),
        )?;
        list(
            f,
            "was",
            self.was
                .iter()
                .map(|(parent, original)| format!("{}:{original}", parent.key())),
        )
    }
}

fn list(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    items: impl Iterator<Item = String>,
) -> fmt::Result {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        Ok(())
    } else {
        write!(f, ";{name}={}", items.join("+"))
    }
}

/// The reason why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// The format is a later version's.
    Newer,
    /// The text is no record.
    Broken,
}

/// Bytes of a record. Ours have some hundred; a forged one is copied several times.
const MAX_RECORD: usize = 64 << 10;
/// Pull secrets of a record.
const MAX_PULL_SECRETS: usize = 1000;

impl Record {
    /// Parses a record.
    ///
    /// # Errors
    /// When the text is no record, or of an unknown format.
    pub(crate) fn parse(text: &str) -> Result<Self, RecordError> {
        if text.len() > MAX_RECORD {
            return Err(RecordError::Broken);
        }
        let format = text.split(';').next().unwrap_or_default();
        let number = format
            .strip_prefix('v')
            .and_then(|number| number.parse::<u32>().ok());
        match number {
            Some(1) => Self::parse_fields(text).ok_or(RecordError::Broken),
            Some(_) => Err(RecordError::Newer),
            None => Err(RecordError::Broken),
        }
    }

    fn parse_fields(text: &str) -> Option<Self> {
        let fields = text.split(';').skip(1);
        let fields: Vec<(&str, &str)> = fields
            .map(|field| field.split_once('='))
            .collect::<Option<_>>()?;
        let of_agent = [
            "agent", "plan", "value", "image", "secret", "config", "volumes", "status",
        ];
        let of_all = ["wait-for", "pull", "created", "was"];
        if fields
            .iter()
            .any(|(name, _)| !of_agent.contains(name) && !of_all.contains(name))
        {
            return None;
        }
        let field = |name: &str| {
            fields
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| *value)
        };
        let items = |name: &str| field(name).into_iter().flat_map(|value| value.split('+'));
        let agent = match fields.iter().any(|(name, _)| of_agent.contains(name)) {
            false => None,
            true => Some(AgentRecord {
                sidecar: match field("agent")? {
                    "container" => Sidecar::Container,
                    "native" => Sidecar::Native,
                    _ => return None,
                },
                plan: Digest::parse(field("plan")?)?,
                value: Digest::parse(field("value")?)?,
                image: Digest::parse(field("image")?)?,
                secret: Digest::parse(field("secret")?)?,
                config: optional(field("config"), Digest::parse)?,
                volumes: few(items("volumes"), Volume::ALL.len(), volume)?,
                status_is_added: match field("status") {
                    None => true,
                    Some("kept") => false,
                    Some(_) => return None,
                },
            }),
        };
        Some(Self {
            components: Components::of(agent, optional(field("wait-for"), wait_for)?)?,
            pull_secrets: optional(field("pull"), pull_secrets)?,
            created: few(items("created"), Parent::ALL.len(), parent)?,
            was: few(items("was"), Parent::ALL.len(), was)?,
        })
    }
}

/// Parses a field that may be absent; none if it is present and invalid.
fn optional<T>(field: Option<&str>, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    field.map_or(Some(None), |text| parse(text).map(Some))
}

/// Parses the items of a field that names each of a few at most once; none if there are more, or one is invalid.
fn few<'t, T>(
    items: impl Iterator<Item = &'t str>,
    most: usize,
    parse: impl Fn(&'t str) -> Option<T>,
) -> Option<Vec<T>> {
    let parsed: Vec<T> = items.take(most + 1).map(parse).collect::<Option<_>>()?;
    (parsed.len() <= most).then_some(parsed)
}

/// `volumes:%20null`. Whatever is neither null nor empty would change the pod when it is put back.
fn was(item: &str) -> Option<(Parent, OriginalParent)> {
    let (key, text) = item.split_once(':')?;
    let original = match text {
        "empty" => OriginalParent::Empty,
        "key" => OriginalParent::Null(NullSource::FlowKey),
        _ => OriginalParent::Null(match text.strip_prefix("flow:") {
            Some(text) => NullSource::Flow(null(text)?),
            None => NullSource::Block(null(text).filter(|null| null.starts_with([' ', '\t']))?),
        }),
    };
    Some((parent(key)?, original))
}

/// Decodes the text of a null; none for any other text.
fn null(text: &str) -> Option<String> {
    let source = decode(text)?;
    let is_one_line = source
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    (is_one_line && is_null(&source)).then_some(source)
}

fn is_null(text: &str) -> bool {
    yaml_json_patch::read(text).is_ok_and(|tree| {
        tree.root().is_none_or(|root| {
            tree.kind(root) == Kind::Scalar
                && matches!(scalar_value(&tree, root), Ok(ScalarValue::Null))
        })
    })
}

/// `last:3fa9c2d1:77c0b1aa:0d1e2f3a`
fn wait_for(text: &str) -> Option<WaitForRecord> {
    let fields: Vec<&str> = text.split(':').collect();
    let &[position, plan, value, image] = &*fields else {
        return None;
    };
    Some(WaitForRecord {
        position: *WaitForPosition::ALL
            .iter()
            .find(|known| known.as_str() == position)?,
        plan: Digest::parse(plan)?,
        value: Digest::parse(value)?,
        image: Digest::parse(image)?,
    })
}

/// `2:team+mirror`
fn pull_secrets(text: &str) -> Option<PullSecrets> {
    let (behind, names) = text.split_once(':')?;
    let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    Some(PullSecrets {
        behind: behind.parse().ok()?,
        names: few(names.split('+'), MAX_PULL_SECRETS, name)?,
    })
}

fn short(volume: Volume) -> &'static str {
    match volume {
        Volume::Tmp => "tmp",
        Volume::Token => "token",
        Volume::Config => "config",
    }
}

fn volume(name: &str) -> Option<Volume> {
    Volume::ALL
        .into_iter()
        .find(|volume| short(*volume) == name)
}

fn parent(key: &str) -> Option<Parent> {
    Parent::ALL.into_iter().find(|parent| parent.key() == key)
}

/// Encodes `" null"` as `%20null`: always a plain scalar, without a blank at which a line could be folded.
fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02x}"));
        }
        encoded
    })
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{
        AgentRecord, Digest, MAX_PULL_SECRETS, MAX_RECORD, NullSource, OriginalParent, Parent,
        PullSecrets, Record, RecordError, Sidecar, Volume, WaitForRecord,
    };
    use crate::agent::components::Components;
    use crate::config::WaitForPosition;

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let agent = AgentRecord {
            sidecar: Sidecar::Native,
            plan: Digest::of("plan"),
            value: Digest::of("value"),
            image: Digest::of("image"),
            secret: Digest::of("secret"),
            config: Some(Digest::of("config")),
            volumes: vec![Volume::Tmp, Volume::Config],
            status_is_added: false,
        };
        let wait_for = WaitForRecord {
            position: WaitForPosition::First,
            plan: Digest::of(""),
            value: Digest::of(""),
            image: Digest::of(""),
        };
        let record = Record {
            components: Components::Agent(agent.clone()),
            pull_secrets: Some(PullSecrets {
                behind: 2,
                names: vec!["team".to_owned(), "a.b".to_owned()],
            }),
            created: vec![Parent::Metadata, Parent::Annotations],
            was: vec![
                (
                    Parent::Volumes,
                    OriginalParent::Null(NullSource::Block(" null".to_owned())),
                ),
                (
                    Parent::InitContainers,
                    OriginalParent::Null(NullSource::Flow("  ~".to_owned())),
                ),
                (Parent::Annotations, OriginalParent::Empty),
                (Parent::Metadata, OriginalParent::Null(NullSource::FlowKey)),
            ],
        };
        let end = "status=kept;created=metadata+annotations;was=volumes:%20null+initContainers:flow:%20%20%7e+annotations:empty+metadata:key";
        for (components, expected) in [
            (
                Components::Agent(agent.clone()),
                format!(";volumes=tmp+config;pull=2:team+a.b;{end}"),
            ),
            (
                Components::Both(agent, wait_for),
                format!(
                    ";volumes=tmp+config;wait-for=first:4fd0bfc1:4fd0bfc1:4fd0bfc1;pull=2:team+a.b;{end}"
                ),
            ),
            (
                Components::WaitFor(wait_for),
                format!(
                    "v1;wait-for=first:4fd0bfc1:4fd0bfc1:4fd0bfc1;pull=2:team+a.b;{}",
                    end.trim_start_matches("status=kept;")
                ),
            ),
        ] {
            let record = Record {
                components,
                ..record.clone()
            };
            assert_eq!(Record::parse(&record.to_string()), Ok(record.clone()));
            assert!(record.to_string().ends_with(&expected), "{record}");
        }
    }

    #[test]
    fn other_text_is_not_a_record() {
        for text in [
            "",
            "v1",
            "v1;created=annotations",
            "v1;agent=native;plan=4fd0bfc1;value=4fd0bfc1;image=4fd0bfc1;secret=4fd0bfc1;pull=1:",
            "v1;agent=container;plan=1;value=2",
            "v1;wait-for=last:4fd0bfc1:4fd0bfc1",
            "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1:4fd0bfc1",
            "v1;wait-for=middle:4fd0bfc1:4fd0bfc1:4fd0bfc1",
            "v1;status=kept;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1",
            "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1;was=volumes:%20x",
            "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1;was=volumes:null",
            "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1;was=volumes:%20%7b%20a%20%7d",
            "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1;was=volumes:%20null%0aa:%20b",
            "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1;created=volumes+volumes+volumes+volumes+volumes",
            "injected",
            "v;agent=native",
            &format!(
                "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1;pull=0:a{}",
                "+a".repeat(MAX_PULL_SECRETS)
            ),
            &format!(
                "v1;wait-for=last:4fd0bfc1:4fd0bfc1:4fd0bfc1;pull=0:{}",
                "a".repeat(MAX_RECORD)
            ),
        ] {
            assert_eq!(Record::parse(text), Err(RecordError::Broken), "{text}");
        }
        assert_eq!(Record::parse("v2;agent=container"), Err(RecordError::Newer));
    }
}
