//! The merged layers become the settings. All that is wrong is found at once: an error is noted at its path, what is there is taken
//! out, and the rest is read again.

use crate::layers::{Loader, MAX_SHOWN};
use crate::message::violation;
use crate::read::{Error, ErrorKind, Refusal};
use crate::spec::Spec;
use crate::values::{Node, Step, Value, join, path_of};
use crate::violation::{Violation, listed};
use crate::{kubernetes, secret};
use report::{closest, is_one_edit};
use serde::Deserialize as _;
use serde_json::{Value as Json, json};
use std::ops::Range;

/// The most settings of one name that a message suggests.
const MAX_PLACES: usize = 2;

impl Loader<'_> {
    /// Returns the settings that the layers give, or reports all that is wrong in them.
    pub(super) fn settings(&mut self) -> Spec {
        let is_given = |root: &Node| !root.is_absent && !matches!(root.value, Value::Null);
        while is_given(&self.root) && self.errors.len() <= MAX_SHOWN {
            match Spec::deserialize(&self.root) {
                Ok(spec) if !self.root.remove_nulls() => return spec,
                Ok(_) => {}
                Err(error) => self.wrong(error),
            }
        }
        Spec::default()
    }

    /// Takes out what serde refuses. Null at a field means the default, and empty text unsets an optional value; all else is an error.
    fn wrong(&mut self, error: Error) {
        let Error {
            kind,
            mut steps,
            is_field,
        } = error;
        let path = path_of(&steps);
        let is_null = |node: &mut Node| matches!(node.value, Value::Null);
        let is_unset = match &kind {
            ErrorKind::Empty => true,
            ErrorKind::Refused(_) => {
                is_field && path != "apiKey" && self.root.at(&steps).is_some_and(is_null)
            }
            ErrorKind::Unknown(..) | ErrorKind::Answer(_) => false,
        };
        if is_unset {
            return self.root.reset(&steps);
        }
        match kind {
            ErrorKind::Unknown(name, fields) => {
                steps.push(Step::Member(name.clone()));
                if let Some(given) = self.root.place(&steps) {
                    self.layer = given.layer;
                    self.unknown(&path, &name, fields, given.name);
                }
            }
            ErrorKind::Refused(refusal) if !self.is_known(&path, &refusal) => {
                self.refused(&steps, &path, refusal);
            }
            _ => {}
        }
        match self.root.at(&steps) {
            Some(node) => node.is_absent = true,
            None => self.root.is_absent = true,
        }
    }

    /// Returns true for a field that is missing because it was taken out.
    fn is_known(&self, path: &str, refusal: &Refusal) -> bool {
        let Refusal::Missing(field) = refusal else {
            return false;
        };
        let path = join(path, field);
        self.errors.iter().any(|error| error.path == path)
    }

    fn refused(&mut self, steps: &[Step], path: &str, refusal: Refusal) {
        let given = self.root.place(steps).unwrap_or_default();
        let layer = self.layers.get(given.layer);
        let text = layer.and_then(|layer| layer.place.text.get(given.value.clone()));
        let written = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
        let violation = match self.root.at(steps).map(|node| &node.value) {
            Some(Value::Null) if path == "apiKey" => secret::unset(),
            value => violation(refusal, path, value.unwrap_or(&Value::Null), &written),
        };
        self.layer = given.layer;
        self.error(path, given.value, violation);
    }

    /// Reports a setting that does not exist.
    pub(super) fn unknown(&mut self, group: &str, name: &str, fields: &[&str], span: Range<usize>) {
        let known: Vec<&str> = fields
            .iter()
            .copied()
            .filter(|field| !kubernetes::is_refused(&join(group, field)))
            .collect();
        let near = closest(name, known.iter().copied());
        if kubernetes::is_within(group) {
            let help = match near {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("it has {}", listed(&known)),
            };
            let violation = Violation::new(format!("has no field `{name}`")).with_help(help);
            return self.error(group, span, violation);
        }
        // `select.namespace` is `select.namespaces`, though there is a setting `namespace`. A name directly below `spec` is rather
        // one that misses its group.
        let is_misspelt = !group.is_empty() && known.iter().any(|known| is_one_edit(name, known));
        let mut places = Vec::new();
        places_of(name, &json!(Spec::default()), "", &mut places);
        let help = match near {
            _ if !is_misspelt && (1..=MAX_PLACES).contains(&places.len()) => {
                format!("did you mean `{}`?", places.join("` or `"))
            }
            Some(known) => format!("did you mean `{}`?", join(group, known)),
            None if name == "spec" && group.is_empty() => {
                "omit `spec`: paths begin below it".to_owned()
            }
            None if group.is_empty() => format!("the fields are {}", listed(&known)),
            None => format!("`{group}` has {}", listed(&known)),
        };
        let violation =
            Violation::new(format!("unknown setting `{}`", join(group, name))).with_help(help);
        self.push_error(group, "", span, violation);
    }
}

/// Adds the paths of the settings and groups of this name.
fn places_of(name: &str, group: &Json, path: &str, found: &mut Vec<String>) {
    for (member, value) in group.as_object().into_iter().flatten() {
        let path = join(path, member);
        if member == name {
            found.push(path.clone());
        }
        if !kubernetes::is_within(&path) {
            places_of(name, value, &path, found);
        }
    }
}
