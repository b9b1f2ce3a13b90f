//! The other resources of an input that say whether the injected pods will start: Secrets, ConfigMaps, quotas.
//!
//! They are not read on the way, since most of them have nothing to do with an agent: an injection only notes where they
//! stand, and those that may matter are read when everything else is done.

mod objects;

pub(crate) use objects::{Entry, Object, Objects};

use crate::config::Config;
use crate::inject::Injection;
use crate::lint;
use crate::needs::{Need, Source};
use crate::report::Remark;
use kube_core::TypeMeta;
use objects::Named;
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

/// The kinds that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Surrounding {
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
    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "Secret" => Some(Surrounding::Holds(Source::Secret)),
            "ConfigMap" => Some(Surrounding::Holds(Source::ConfigMap)),
            "ResourceQuota" => Some(Surrounding::Quota),
            "LimitRange" => Some(Surrounding::LimitRange),
            "ServiceAccount" => Some(Surrounding::ServiceAccount),
            _ => None,
        }
    }

    /// True for what concerns no pod that does not name it.
    fn is_named(self) -> bool {
        match self {
            Surrounding::Holds(_) | Surrounding::ServiceAccount => true,
            Surrounding::Quota | Surrounding::LimitRange => false,
        }
    }
}

/// Where one of them stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    /// What it is.
    pub(crate) surrounding: Surrounding,
    /// Bytes of the document, or of the item of a list, that it stands in.
    pub(crate) piece: Range<usize>,
    /// JSON Pointer from the piece's root.
    pub(crate) pointer: String,
    /// What a typed list around the piece says of its items.
    pub(crate) inherited: Option<Rc<TypeMeta>>,
}

/// One text of a run and what became of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'r> {
    /// The text.
    pub(crate) text: &'r str,
    /// What it gave.
    pub(crate) injection: &'r Injection,
}

/// Something that the injected pods of one namespace need.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
#[non_exhaustive]
pub enum Presence {
    /// It has not: it must be in the cluster, or come from elsewhere.
    Absent,
    /// It has, here.
    #[non_exhaustive]
    Present {
        /// Which text of those that were injected together, from 0.
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
    pub(crate) fn words(self) -> &'static str {
        match self {
            Presence::Absent => "not in the input",
            Presence::Present { .. } => "in the input",
            Presence::WithoutKey => "in the input, without that key",
        }
    }
}

/// What the surroundings say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// What the injected pods need: by namespace, then in the order of the texts.
    pub(crate) requirements: Vec<Requirement>,
    /// What is wrong with what is there, each with the text that it stands in.
    pub(crate) remarks: Vec<(usize, Remark)>,
}

/// Looks at what surrounds the injected pods of all texts of a run.
#[must_use]
pub(crate) fn look(parts: &[Part<'_>], config: &Config) -> Surroundings {
    if !has_agents(parts) {
        return Surroundings::default();
    }
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
    requirements.sort_by(|one, other| one.namespace.cmp(&other.namespace));
    let objects = objects::read(parts, &Named::by(parts, config), config);
    let objects = Objects::new(&objects);
    for requirement in &mut requirements {
        requirement.presence = presence(requirement, &objects);
    }
    let remarks = lint::surroundings(parts, &objects, &requirements, config);
    Surroundings { requirements, remarks }
}

fn has_agents(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| part.injection.outcomes.iter().any(|outcome| outcome.needs.is_some()))
}

fn presence(requirement: &Requirement, objects: &Objects<'_>) -> Presence {
    let mut presence = Presence::Absent;
    for object in objects.required(requirement) {
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
