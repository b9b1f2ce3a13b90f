//! The record: one annotation that says what we added, so that upgrade and uninject know what to take out and what to
//! put back.
//!
//! ```text
//! v1;agent=container;plan=3fa9c2d1;value=77c0b1aa;image=0d1e2f3a;secret=5b6c7d8e;volumes=tmp;created=annotations+volumes
//! ```
//!
//! - `agent`: `container` or `native`
//! - `plan`: fingerprint of everything that was added, to the letter; another one means that the configuration changed
//! - `value`: fingerprint of its normal form without the names below; another one means that somebody edited it
//! - `image`, `secret`, `config`: fingerprints of the names as they were configured; another one means that the name was
//!   changed by somebody who may
//! - `volumes`: which of our volumes
//! - `pull`: pull secrets that we added, behind how many others
//! - `created`: parents that were not there before
//! - `status`: `kept` where a stale `status` annotation was there before us and stays behind
//! - `was`: parents that stood there as a null, with how it was written (see [`gave_way`](crate::splice::gave_way)),
//!   percent-encoded
//!
//! No program version, no path, no time: a newer binary that would add the same changes nothing.

use super::normal::Digest;
use super::{Sidecar, Volume};
use std::fmt;

/// A part of the pod template that has to exist before something of ours can stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parent {
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
    const ALL: [Parent; 4] = [Parent::Metadata, Parent::Annotations, Parent::Volumes, Parent::InitContainers];

    /// JSON Pointer from the pod template.
    #[must_use]
    pub fn pointer(self) -> &'static str {
        match self {
            Parent::Metadata => "/metadata",
            Parent::Annotations => "/metadata/annotations",
            Parent::Volumes => "/spec/volumes",
            Parent::InitContainers => "/spec/initContainers",
        }
    }

    /// Its key, which is its name in the record too.
    #[must_use]
    pub fn key(self) -> &'static str {
        self.pointer().rsplit('/').next().unwrap_or_default()
    }
}

/// Pull secrets that we added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullSecrets {
    /// How many stood there before, and so in front of ours.
    pub behind: usize,
    /// Their names as configured.
    pub names: Vec<String>,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where the agent stands.
    pub agent: Sidecar,
    /// Of everything added, to the letter.
    pub plan: Digest,
    /// Of its normal form without names.
    pub value: Digest,
    /// Of the image as configured.
    pub image: Digest,
    /// Of the Secret's name as configured.
    pub secret: Digest,
    /// Of the ConfigMap's name as configured.
    pub config: Option<Digest>,
    /// Our volumes.
    pub volumes: Vec<Volume>,
    /// Our pull secrets, if we added any.
    pub pull_secrets: Option<PullSecrets>,
    /// The `status` annotation is ours; it is not where one was copied in from elsewhere.
    pub status_is_ours: bool,
    /// Parents that we created.
    pub created: Vec<Parent>,
    /// Parents that were a null, and how it was written.
    pub was: Vec<(Parent, String)>,
}

/// The only format there is. Another number comes from a later program, whose additions we must not touch.
const FORMAT: &str = "v1";

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = match self.agent {
            Sidecar::Container => "container",
            Sidecar::Native => "native",
        };
        write!(f, "{FORMAT};agent={agent};plan={};value={}", self.plan, self.value)?;
        write!(f, ";image={};secret={}", self.image, self.secret)?;
        if let Some(config) = self.config {
            write!(f, ";config={config}")?;
        }
        list(f, "volumes", self.volumes.iter().map(|volume| short(*volume).to_owned()))?;
        if let Some(PullSecrets { behind, names }) = &self.pull_secrets {
            write!(f, ";pull={behind}:{}", names.join("+"))?;
        }
        if !self.status_is_ours {
            f.write_str(";status=kept")?;
        }
        list(f, "created", self.created.iter().map(|parent| parent.key().to_owned()))?;
        list(f, "was", self.was.iter().map(|(parent, text)| format!("{}:{}", parent.key(), encode(text))))
    }
}

fn list(f: &mut fmt::Formatter<'_>, name: &str, items: impl Iterator<Item = String>) -> fmt::Result {
    let items: Vec<String> = items.collect();
    if items.is_empty() { Ok(()) } else { write!(f, ";{name}={}", items.join("+")) }
}

/// Why a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// It has a format that a later program writes.
    Newer,
    /// It is no record.
    Broken,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// When it is none, or of a format that this program does not know.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        let format = text.split(';').next().unwrap_or_default();
        let number = format.strip_prefix('v').and_then(|number| number.parse::<u32>().ok());
        match number {
            Some(1) => Self::parse_fields(text).ok_or(Unreadable::Broken),
            Some(_) => Err(Unreadable::Newer),
            None => Err(Unreadable::Broken),
        }
    }

    fn parse_fields(text: &str) -> Option<Self> {
        let fields = text.split(';').skip(1);
        let fields: Vec<(&str, &str)> = fields.map(|field| field.split_once('=')).collect::<Option<_>>()?;
        let known =
            ["agent", "plan", "value", "image", "secret", "config", "volumes", "pull", "status", "created", "was"];
        if fields.iter().any(|(name, _)| !known.contains(name)) {
            return None;
        }
        let field = |name: &str| fields.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let items = |name: &str| field(name).into_iter().flat_map(|value| value.split('+'));
        Some(Self {
            agent: match field("agent")? {
                "container" => Sidecar::Container,
                "native" => Sidecar::Native,
                _ => return None,
            },
            plan: Digest::parse(field("plan")?)?,
            value: Digest::parse(field("value")?)?,
            image: Digest::parse(field("image")?)?,
            secret: Digest::parse(field("secret")?)?,
            config: match field("config") {
                Some(digest) => Some(Digest::parse(digest)?),
                None => None,
            },
            volumes: items("volumes").map(volume).collect::<Option<_>>()?,
            pull_secrets: match field("pull") {
                Some(text) => Some(pull_secrets(text)?),
                None => None,
            },
            status_is_ours: match field("status") {
                None => true,
                Some("kept") => false,
                Some(_) => return None,
            },
            created: items("created").map(parent).collect::<Option<_>>()?,
            was: items("was")
                .map(|item| {
                    let (key, text) = item.split_once(':')?;
                    Some((parent(key)?, decode(text)?))
                })
                .collect::<Option<_>>()?,
        })
    }
}

/// `2:team+mirror`
fn pull_secrets(text: &str) -> Option<PullSecrets> {
    let (behind, names) = text.split_once(':')?;
    let names: Vec<String> = names.split('+').map(str::to_owned).collect();
    let is_name = |name: &String| !name.is_empty();
    names.iter().all(is_name).then_some(PullSecrets { behind: behind.parse().ok()?, names })
}

fn short(volume: Volume) -> &'static str {
    match volume {
        Volume::Tmp => "tmp",
        Volume::Token => "token",
        Volume::Config => "config",
    }
}

fn volume(name: &str) -> Option<Volume> {
    Volume::ALL.into_iter().find(|volume| short(*volume) == name)
}

fn parent(key: &str) -> Option<Parent> {
    Parent::ALL.into_iter().find(|parent| parent.key() == key)
}

/// `" null"` -> `%20null`: nothing that YAML could take for more than a plain word, no blank at which a line could be folded.
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
    use super::{Digest, Parent, PullSecrets, Record, Sidecar, Unreadable, Volume};

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let record = Record {
            agent: Sidecar::Native,
            plan: Digest::of("plan"),
            value: Digest::of("value"),
            image: Digest::of("image"),
            secret: Digest::of("secret"),
            config: Some(Digest::of("config")),
            volumes: vec![Volume::Tmp, Volume::Config],
            pull_secrets: Some(PullSecrets { behind: 2, names: vec!["team".to_owned(), "a.b".to_owned()] }),
            status_is_ours: false,
            created: vec![Parent::Metadata, Parent::Annotations],
            was: vec![(Parent::Volumes, " null".to_owned()), (Parent::InitContainers, "  ~".to_owned())],
        };
        assert_eq!(Record::parse(&record.to_string()), Ok(record.clone()));
        assert!(record.to_string().ends_with(
            ";volumes=tmp+config;pull=2:team+a.b;status=kept;created=metadata+annotations;was=volumes:%20null+initContainers:%20%20%7e"
        ));
    }

    #[test]
    fn what_is_not_a_record_of_this_format_is_told_apart() {
        for text in [
            "",
            "v1",
            "v1;agent=native;plan=4fd0bfc1;value=4fd0bfc1;image=4fd0bfc1;secret=4fd0bfc1;pull=1:",
            "v1;agent=container;plan=1;value=2",
            "injected",
            "v;agent=native",
        ] {
            assert_eq!(Record::parse(text), Err(Unreadable::Broken), "{text}");
        }
        assert_eq!(Record::parse("v2;agent=container"), Err(Unreadable::Newer));
    }
}
