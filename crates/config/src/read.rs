//! Values become settings: the type that serde asks for decides what a value may be, and has the names of the fields.

use crate::values::{Node, Shape, Step, Type, Value};
use crate::violation::Violation;
use serde::de::value::StrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, Expected, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;
use std::iter::Enumerate;

/// An error of reading, and its place.
#[derive(Debug)]
pub(super) struct Error {
    pub(super) kind: ErrorKind,
    /// The steps down to the value.
    pub(super) steps: Vec<Step>,
    /// True for the value of a field, which has a default; false for an item of a list, and for a label.
    pub(super) is_field: bool,
}

#[derive(Debug)]
pub(super) enum ErrorKind {
    Refused(Refusal),
    /// A member is none of the fields.
    Unknown(String, &'static [&'static str]),
    /// Empty text is no such value, but the value may be unset.
    Empty,
    /// The answer of a type that was asked.
    Answer(Type),
}

/// A reason to refuse a value.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It has another type than this one, in the words of serde.
    Type(String),
    /// It is none of these words.
    Word(&'static [&'static str]),
    /// It lacks this field.
    Missing(&'static str),
    /// The type's own check.
    Check(Violation),
}

/// The names of a path that are read. No setting has so many.
const MAX_DEPTH: usize = 16;

/// Returns the type of the setting at a path, or the error why there is none.
pub(super) fn type_at<'de, T: Deserialize<'de>>(names: &[String]) -> Result<Type, Error> {
    let asked = names.iter().take(MAX_DEPTH);
    let node = asked.rfold(Value::Asked.into(), |node, name| {
        Value::Mapping([(name.clone(), node)].into()).into()
    });
    match T::deserialize(&node) {
        Err(Error {
            kind: ErrorKind::Answer(found),
            ..
        }) => Ok(found),
        Err(error) => Err(error),
        Ok(_) => Ok(Type::default()),
    }
}

impl Error {
    fn new(kind: ErrorKind) -> Self {
        Error {
            kind,
            steps: Vec::new(),
            is_field: true,
        }
    }

    fn refused(refusal: Refusal) -> Self {
        Self::new(ErrorKind::Refused(refusal))
    }

    /// Adds the step above those that it has.
    fn below(mut self, step: Step, is_field: bool) -> Self {
        if self.steps.is_empty() {
            self.is_field = is_field;
        }
        self.steps.insert(0, step);
        self
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let violation = Violation::of_message(&message.to_string());
        Self::refused(Refusal::Check(violation))
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::refused(Refusal::Type(expected.to_string()))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(_: &str, words: &'static [&'static str]) -> Self {
        Self::refused(Refusal::Word(words))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::refused(Refusal::Missing(field))
    }
}

struct Items<'n>(Enumerate<std::slice::Iter<'n, Node>>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0
            .find(|(_, item)| !item.is_absent)
            .map(|(index, item)| {
                seed.deserialize(item)
                    .map_err(|error| error.below(Step::Item(index), false))
            })
            .transpose()
    }
}

struct Members<'n> {
    rest: indexmap::map::Iter<'n, String, Node>,
    /// The member whose name was read.
    member: Option<(&'n String, &'n Node)>,
    are_fields: bool,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.member = self.rest.find(|(_, member)| !member.is_absent);
        self.member
            .map(|(name, _)| seed.deserialize(StrDeserializer::new(name)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, member) = self
            .member
            .ok_or_else(|| Error::custom("has a value without a name"))?;
        seed.deserialize(member)
            .map_err(|error| error.below(Step::Member(name.clone()), self.are_fields))
    }
}

impl Node {
    fn visit<'de, V: Visitor<'de>>(&self, shape: Shape, visitor: V) -> Result<V::Value, Error> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (_, Some(number)) => visitor.visit_i64(number),
                _ => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::Text(text) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Mapping(members) => visitor.visit_map(Members {
                rest: members.iter(),
                member: None,
                are_fields: false,
            }),
            Value::Asked => Err(Error::new(ErrorKind::Answer(Type {
                shape,
                is_optional: false,
            }))),
        }
    }
}

macro_rules! visited {
    ($($method:ident: $Shape:ident),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.visit(Shape::$Shape, visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for &Node {
    type Error = Error;

    // Kubernetes' type for ports takes any value.
    visited! {
        deserialize_any: Number, deserialize_i32: Number, deserialize_i64: Number, deserialize_u16: Number, deserialize_u32: Number,
        deserialize_bool: Switch, deserialize_string: Text, deserialize_seq: List, deserialize_map: Mapping
    }

    /// A number or null that the check of a text refuses is an error of the check, which says how to write it.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let written = match &self.value {
            Value::Null => "null".to_owned(),
            Value::Number(number) if number.is_u64() => number.to_string(),
            // `1.0` -> `1`
            Value::Number(number) if number.is_f64() => {
                number.as_f64().unwrap_or_default().to_string()
            }
            _ => return self.visit(Shape::Text, visitor),
        };
        visitor.visit_str(&written)?;
        Err(Error::refused(Refusal::Type("a string".to_owned())))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if matches!(self.value, Value::Null) {
            return visitor.visit_none();
        }
        visitor.visit_some(self).map_err(|mut error| {
            match &mut error.kind {
                ErrorKind::Answer(found) if error.steps.is_empty() => found.is_optional = true,
                ErrorKind::Refused(Refusal::Check(_) | Refusal::Word(_))
                    if matches!(&self.value, Value::Text(text) if text.is_empty()) =>
                {
                    error.kind = ErrorKind::Empty;
                }
                _ => {}
            }
            error
        })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            // An amount, which keeps its text.
            Value::Asked => self.visit(Shape::Text, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.value {
            Value::Mapping(members) => {
                let unknown = members
                    .iter()
                    .find(|(name, member)| !member.is_absent && !fields.contains(&name.as_str()));
                if let Some((name, _)) = unknown {
                    return Err(Error::new(ErrorKind::Unknown(name.clone(), fields)));
                }
                visitor.visit_map(Members {
                    rest: members.iter(),
                    member: None,
                    are_fields: true,
                })
            }
            // Serde would read a list as the fields in their order.
            Value::List(_) => Err(Error::refused(Refusal::Type(name.to_owned()))),
            _ => self.visit(Shape::Mapping, visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.value {
            Value::Text(word) => StrDeserializer::new(word).deserialize_enum(name, words, visitor),
            Value::Asked => self.visit(Shape::Text, visitor),
            _ => Err(Error::refused(Refusal::Word(words))),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}
