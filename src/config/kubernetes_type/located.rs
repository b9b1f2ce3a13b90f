//! Reads a value into a Kubernetes type, with places: what is unknown or of the wrong type is said where it stands, and
//! reading goes on behind it, so that everything wrong is found at once.

use crate::config::path::escape;
use crate::config::quantity;
use crate::config::reading::{Complaint, Reading};
use crate::config::scalar::{Form, Scalar};
use crate::config::suggestion::closest;
use crate::config::value::{Places, Value, no_alias};
use crate::yaml::{self, Kind, NodeId, Resolved, Tree};
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer as _, Visitor};
use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

/// What reading found, beside the value itself.
#[derive(Debug, Default)]
pub(crate) struct Found {
    problems: Vec<(Vec<String>, Range<usize>, Complaint)>,
    /// The single values and lists that were given, by their path; lists as a whole.
    pub(crate) given: Vec<(Vec<String>, Range<usize>)>,
    /// The fields that were given as `null`.
    pub(crate) nulls: Vec<(Vec<String>, Range<usize>)>,
}

/// Reads a `T` of which `value` is the part `path` (all of it, with an empty path). What is wrong goes to `reading`.
pub(crate) fn read<T: DeserializeOwned>(
    value: &Value<'_>,
    path: &[String],
    reading: &mut Reading<'_>,
) -> Option<(T, Found)> {
    let found = RefCell::new(Found::default());
    let read = T::deserialize(Located { value: value.clone(), path, trail: Vec::new(), found: &found });
    let mut found = found.into_inner();
    let is_clean = found.problems.is_empty();
    for (trail, range, complaint) in found.problems.drain(..) {
        reading.problem_below(&trail, range, complaint);
    }
    match read {
        Ok(read) => is_clean.then_some((read, found)),
        Err(Refused(what)) => {
            reading.problem(value.range(), Complaint::new(format!("is not accepted: {what}")));
            None
        }
    }
}

/// A type's own refusal; everything else is collected in [`Found`].
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Refused(message.to_string())
    }
}

struct Located<'v> {
    value: Value<'v>,
    /// Keys between here and the value.
    path: &'v [String],
    /// Keys and items from the type's root to here.
    trail: Vec<String>,
    found: &'v RefCell<Found>,
}

impl Located<'_> {
    fn complain(&self, complaint: Complaint) {
        self.complain_at(self.value.range(), complaint);
    }

    fn complain_at(&self, range: Range<usize>, complaint: Complaint) {
        self.found.borrow_mut().problems.push((self.trail.clone(), range, complaint));
    }

    /// Notes a given value. Items of lists are no settings of their own.
    fn note_given(&self) {
        if !self.trail.iter().any(|part| part.starts_with('[')) {
            self.found.borrow_mut().given.push((self.trail.clone(), self.value.range()));
        }
    }

    /// Reads a single value; after a complaint goes on with what stands for it.
    fn single<T>(&self, form: Form, instead: T, parse: impl FnOnce(&str) -> Result<T, Complaint>) -> T {
        if let [part, ..] = self.path {
            self.complain(Complaint::new(format!("is a single value and has no `{part}`")));
            return instead;
        }
        match self.value.scalar(form).and_then(|text| parse(&text)) {
            Ok(value) => {
                self.note_given();
                value
            }
            Err(complaint) => {
                self.complain(complaint);
                instead
            }
        }
    }

    fn is_null(&self) -> bool {
        self.path.is_empty()
            && (self.value.is_null() || matches!(&self.value, Value::Text { text, .. } if *text == "null"))
    }

    /// The value of a struct (with its fields) or a map (without).
    fn mapping<'de, V: Visitor<'de>>(
        self,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        if let [part, rest @ ..] = self.path {
            let mut entries = Vec::new();
            self.enter(part, self.value.range(), self.value.clone(), rest, fields, &mut entries);
            return visitor.visit_map(Entries { entries: entries.into_iter(), value: None });
        }
        self.with_node(Kind::Mapping, |this, node| {
            let mut entries = Vec::new();
            if let Some((tree, id, places)) = node {
                for (key, item) in tree.entries(id) {
                    let range = places.range(tree.span(key));
                    let value = Value::Node { tree, id: item, places: places.clone() };
                    match tree.scalar(key) {
                        Some(name) => this.enter(&name, range, value, &[], fields, &mut entries),
                        None => this.complain_at(range, Complaint::new("has a key that is not a string")),
                    }
                }
            }
            visitor.visit_map(Entries { entries: entries.into_iter(), value: None })
        })
    }

    /// An entry of this mapping, unless its name is unknown or taken.
    fn enter<'n>(
        &'n self,
        name: &str,
        range: Range<usize>,
        value: Value<'n>,
        path: &'n [String],
        fields: Option<&'static [&'static str]>,
        entries: &mut Vec<(String, Located<'n>)>,
    ) {
        if let Some(known) = fields.filter(|known| !known.contains(&name)) {
            let complaint = Complaint::new(format!("has no field `{name}`"));
            let help = match closest(name, known.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => {
                    format!("it has {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
                }
            };
            return self.complain_at(range, complaint.with_help(help));
        }
        if entries.iter().any(|(other, _)| other == name) {
            return self.complain_at(range, Complaint::new(format!("has the key `{name}` twice")));
        }
        let mut trail = self.trail.clone();
        trail.push(escape(name));
        let entry = Located { value, path, trail, found: self.found };
        // A field may be null; an entry of a map is there or not.
        if fields.is_none() && entry.is_null() {
            return self.found.borrow_mut().nulls.push((entry.trail, entry.value.range()));
        }
        entries.push((name.to_owned(), entry));
    }

    /// Calls `visit` with the value as a node of the wanted kind; text is read as YAML first. Where there is none, says so
    /// and calls it without.
    fn with_node<R>(&self, wanted: Kind, visit: impl FnOnce(&Self, Option<(&Tree<'_>, NodeId, &Places)>) -> R) -> R {
        let complaint = match &self.value {
            Value::Node { tree, id, places } if tree.kind(*id) == wanted => {
                return visit(self, Some((tree, *id, places)));
            }
            Value::Node { tree, id, .. } if tree.kind(*id) == Kind::Alias => no_alias(),
            Value::Node { .. } => of_kind(wanted, &self.value),
            Value::Text { text, places } => match yaml::read(text) {
                Ok(tree) => match tree.root() {
                    Some(id) if tree.kind(id) == wanted => return visit(self, Some((&tree, id, places))),
                    Some(id) => of_kind(wanted, &Value::Node { tree: &tree, id, places: places.clone() }),
                    None => Complaint::new("has no value"),
                },
                Err(error) => Complaint::new(format!("is not valid YAML: {}", error.message)),
            },
        };
        self.complain(complaint);
        visit(self, None)
    }
}

fn of_kind(wanted: Kind, value: &Value<'_>) -> Complaint {
    let wanted = if wanted == Kind::Sequence { "a list" } else { "a mapping" };
    Complaint::new(format!("must be {wanted}, found {}", value.type_name()))
}

macro_rules! integers {
    ($($method:ident $visit:ident $Type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            visitor.$visit(self.single(Form::Integer, 0, |text| {
                text.parse::<$Type>().map_err(|_| Complaint::new(format!("must be a whole number, found `{text}`")))
            }))
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Located<'_> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if let Value::Node { tree, id, .. } = &self.value {
            match (tree.kind(*id), yaml::resolve(tree, *id)) {
                (Kind::Mapping, _) => return self.deserialize_map(visitor),
                (Kind::Sequence, _) => return self.deserialize_seq(visitor),
                (_, Ok(Resolved::Null)) => return visitor.visit_unit(),
                (_, Ok(Resolved::Bool(_))) => return self.deserialize_bool(visitor),
                (_, Ok(Resolved::Int(_))) => return self.deserialize_i64(visitor),
                _ => {}
            }
        }
        self.deserialize_string(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_bool(self.single(Form::Boolean, false, bool::parse))
    }

    integers!(
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64
    );

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_string(self.single(Form::Text, String::new(), |text| Ok(text.to_owned())))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if self.is_null() {
            self.found.borrow_mut().nulls.push((self.trail.clone(), self.value.range()));
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Refused> {
        if name == "Quantity" {
            let quantity = self.single(Form::Quantity, String::new(), |text| {
                quantity::check(text)?;
                Ok(text.to_owned())
            });
            return visitor.visit_string(quantity);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        if let [part, ..] = self.path {
            self.complain(Complaint::new(format!("is a list and has no `{part}`")));
            return visitor.visit_seq(Items { items: Vec::new().into_iter() });
        }
        self.with_node(Kind::Sequence, |this, node| {
            let mut items = Vec::new();
            if let Some((tree, id, places)) = node {
                this.note_given();
                for (index, item) in tree.items(id).enumerate() {
                    let mut trail = this.trail.clone();
                    trail.push(format!("[{index}]"));
                    let value = Value::Node { tree, id: item, places: places.clone() };
                    items.push(Located { value, path: &[], trail, found: this.found });
                }
            }
            visitor.visit_seq(Items { items: items.into_iter() })
        })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.mapping(None, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.mapping(Some(fields), visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_string(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        f32 f64 i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct enum
    }
}

/// The entries of a mapping, those that cannot be used left out.
struct Entries<'v> {
    entries: std::vec::IntoIter<(String, Located<'v>)>,
    value: Option<Located<'v>>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refused> {
        let Some((name, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        let name: StrDeserializer<'_, Refused> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        match self.value.take() {
            Some(value) => seed.deserialize(value),
            None => Err(de::Error::custom("a value without its key")),
        }
    }
}

struct Items<'v> {
    items: std::vec::IntoIter<Located<'v>>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        self.items.next().map(|item| seed.deserialize(item)).transpose()
    }
}
