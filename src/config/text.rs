//! Settings as text: in annotations, and in the agent's variables.

use serde::de::value::{Error, SeqDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
};
use serde::{Serialize, forward_to_deserialize_any};
use serde_json::Value as Json;

/// Sets a setting to the value that a text means for its type. Empty text unsets an optional one.
pub(super) fn set<T: DeserializeOwned>(setting: &mut T, text: &str) -> Result<(), Error> {
    *setting = T::deserialize(Text(text))?;
    Ok(())
}

/// Returns a setting as text; none if it is unset or empty. Items of a list are separated by commas.
pub(super) fn shown<T: Serialize>(setting: &T) -> Option<String> {
    match serde_json::to_value(setting).ok()? {
        Json::Null => None,
        Json::String(text) => Some(text).filter(|text| !text.is_empty()),
        Json::Array(items) if items.is_empty() => None,
        Json::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
            Some(items.join(","))
        }
        other => Some(other.to_string()),
    }
}

/// Text without a type of its own.
#[derive(Clone, Copy)]
struct Text<'de>(&'de str);

impl<'de> IntoDeserializer<'de> for Text<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.to_ascii_lowercase().parse() {
            Ok(value) => visitor.visit_bool(value),
            Err(_) => Err(Error::invalid_type(Unexpected::Str(self.0), &visitor)),
        }
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u32(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.parse() {
            Ok(number) if !self.0.starts_with('+') => visitor.visit_u32(number),
            _ => Err(Error::invalid_type(Unexpected::Str(self.0), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            "" => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        StrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let items = self
            .0
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(Text);
        visitor.visit_seq(SeqDeserializer::new(items))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct
        identifier ignored_any
    }
}
