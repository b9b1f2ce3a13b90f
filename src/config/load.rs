//! The merged layers become the settings. All that is wrong is found at once: an error is noted at its path, what is there is taken
//! out, and the rest is read again.

use crate::config::layers::{Given, Loader, MAX_SHOWN, join};
use crate::config::message::violation;
use crate::config::null::{self, Removed};
use crate::config::spec::Spec;
use crate::config::strict::Strict;
use crate::config::violation::{Violation, listed};
use crate::config::{kubernetes, schema, secret};
use crate::diagnostic::closest::{closest, is_one_edit};
use crate::manifest::dotted_path::is_at_or_below;
use serde::Deserialize as _;
use serde_json::{Value as Json, json};
use serde_path_to_error::{Segment, Track};
use std::collections::BTreeSet;
use std::ops::Range;

/// The most settings of one name that a message suggests.
const MAX_PLACES: usize = 2;

impl Loader<'_> {
    /// Returns the settings that the layers give, or reports all that is wrong in them.
    pub(super) fn settings(&mut self) -> Spec {
        null::remove_given(&mut self.values);
        while !self.values.is_null() && self.errors.len() <= MAX_SHOWN {
            let mut unknown = Vec::new();
            let mut note = |path: serde_ignored::Path<'_>| unknown.push(steps(&path));
            let mut track = Track::new();
            let reader = serde_path_to_error::Deserializer::new(Strict(&self.values), &mut track);
            let reader = serde_ignored::Deserializer::new(reader, &mut note);
            let read = Spec::deserialize(reader);
            for steps in unknown.into_iter().take(MAX_SHOWN + 1) {
                self.unknown_at(steps);
            }
            match read {
                Ok(spec) => match null::remove_read(&mut self.values) {
                    Removed::Nothing => return spec,
                    Removed::Something => {}
                },
                Err(error) => {
                    let steps: Vec<Segment> = track.path().iter().cloned().collect();
                    self.wrong(&steps, &error.to_string());
                }
            }
        }
        Spec::default()
    }

    /// Takes out what serde refuses. Null at a field means the default, and empty text unsets an optional value; all else is an error.
    fn wrong(&mut self, steps: &[Segment], message: &str) {
        let path = self.path(steps);
        let schema = schema::at(&path);
        let value = get_mut(&mut self.values, steps)
            .cloned()
            .unwrap_or_default();
        let may_be_empty =
            |schema| schema::is_optional(schema) && schema::types(schema) != ["integer"];
        if value == "" && schema.is_some_and(may_be_empty) {
            if let Some(value) = get_mut(&mut self.values, steps) {
                *value = Json::Null;
            }
            return;
        }
        let is_unset = value.is_null() && path == "apiKey";
        if value.is_null() && !is_unset && self.is_field(steps) {
            self.given.retain(|set, _| !is_at_or_below(set, &path));
            return null::reset(&mut self.values, steps);
        }
        if !self.is_known(&path, message) {
            let given = self
                .place(&path)
                .cloned()
                .unwrap_or_else(|| self.given(0..0, 0..0));
            let layer = self.layers.get(given.layer);
            let text = layer.and_then(|layer| layer.place.text.get(given.value.clone()));
            let written = String::from_utf8_lossy(text.unwrap_or_default());
            let violation = if is_unset {
                secret::unset()
            } else {
                violation(message, schema, &value, &written)
            };
            self.layer = given.layer;
            self.error(&path, given.value, violation);
        }
        self.take_out(steps);
    }

    /// Returns true if the last step is a field of a type; false for an item of a list, and for a label.
    fn is_field(&self, steps: &[Segment]) -> bool {
        let Some((Segment::Map { .. }, above)) = steps.split_last() else {
            return steps.is_empty();
        };
        schema::at(&self.path(above)).is_some_and(|above| above["properties"].is_object())
    }

    /// Returns true for a field that is missing because it was taken out.
    fn is_known(&self, path: &str, message: &str) -> bool {
        message
            .strip_prefix("missing field `")
            .and_then(|field| field.strip_suffix('`'))
            .map(|field| join(path, field))
            .is_some_and(|path| self.errors.iter().any(|error| error.path == path))
    }

    fn take_out(&mut self, steps: &[Segment]) {
        let Some((last, above)) = steps.split_last() else {
            self.values = json!({});
            return;
        };
        let list = self.path(above);
        let taken = self.taken.entry(list).or_default();
        match (get_mut(&mut self.values, above), last) {
            (Some(Json::Object(members)), Segment::Map { key }) => {
                members.shift_remove(key);
            }
            (Some(Json::Array(items)), Segment::Seq { index }) if *index < items.len() => {
                items.remove(*index);
                taken.insert(original(taken, *index));
            }
            _ => self.values = json!({}),
        }
    }

    /// Returns the dotted path, with the indexes that the items of lists had at first.
    fn path(&self, steps: &[Segment]) -> String {
        let mut path = String::new();
        for step in steps {
            match step {
                Segment::Seq { index } => {
                    let index = self
                        .taken
                        .get(&path)
                        .map_or(*index, |taken| original(taken, *index));
                    path += &format!("[{index}]");
                }
                Segment::Map { key } => path = join(&path, key),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        path
    }

    fn unknown_at(&mut self, steps: Vec<Segment>) {
        if let [above @ .., Segment::Map { key }] = &steps[..] {
            let group = self.path(above);
            if let Some(Given { layer, name, .. }) = self.given.get(&join(&group, key)).cloned() {
                self.layer = layer;
                self.unknown(&group, key, name);
            }
            self.take_out(&steps);
        }
    }

    /// Reports a setting that does not exist.
    pub(super) fn unknown(&mut self, group: &str, name: &str, span: Range<usize>) {
        let known = schema::at(group).map(schema::fields).unwrap_or_default();
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
        let places = schema::places_of(name);
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

/// Returns the index that an item of a list had before others were taken out.
fn original(taken: &BTreeSet<usize>, index: usize) -> usize {
    taken
        .iter()
        .fold(index, |index, gone| index + usize::from(*gone <= index))
}

fn get_mut<'j>(json: &'j mut Json, steps: &[Segment]) -> Option<&'j mut Json> {
    steps.iter().try_fold(json, |json, step| match step {
        Segment::Seq { index } => json.get_mut(index),
        Segment::Map { key } => json.get_mut(key),
        Segment::Enum { .. } | Segment::Unknown => Some(json),
    })
}

/// Returns the steps of a path of serde_ignored.
fn steps(path: &serde_ignored::Path<'_>) -> Vec<Segment> {
    use serde_ignored::Path;
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, Some(Segment::Seq { index: *index })),
        Path::Map { parent, key } => (parent, Some(Segment::Map { key: key.clone() })),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut steps = steps(parent);
    steps.extend(step);
    steps
}
