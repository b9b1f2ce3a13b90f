//! The JSON Schema of a Kubernetes type, asked of its `Deserialize`: the probe answers every question of the type with
//! some value and notes what was asked for.

use serde::de::value::{Error, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer as _, Visitor};
use serde_json::{Map, Value as Json, json};
use std::cell::RefCell;

/// Every field is optional and may be `null`, as in Kubernetes' own reading.
pub(crate) fn schema<T: DeserializeOwned>() -> Json {
    let noted = RefCell::new(Json::Bool(true));
    // The probe's values satisfy every type; one that they did not would leave the schema that allows anything.
    let _ = T::deserialize(Probe { noted: &noted, optional: false });
    noted.into_inner()
}

struct Probe<'n> {
    noted: &'n RefCell<Json>,
    optional: bool,
}

impl Probe<'_> {
    fn note(&self, types: &[&str], further: Json) {
        let mut types: Vec<Json> = types.iter().map(|name| Json::from(*name)).collect();
        if self.optional {
            types.push("null".into());
        }
        let mut schema = json!({"type": if let [one] = types.as_slice() { one.clone() } else { types.into() }});
        if let (Json::Object(schema), Json::Object(further)) = (&mut schema, further) {
            schema.extend(further);
        }
        self.noted.replace(schema);
    }
}

macro_rules! single {
    ($($method:ident $visit:ident $value:expr, $name:literal;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.note(&[$name], Json::Null);
            visitor.$visit($value)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Probe<'_> {
    type Error = Error;

    single! {
        deserialize_bool visit_bool false, "boolean";
        deserialize_i32 visit_i32 0, "integer";
        deserialize_i64 visit_i64 0, "integer";
        deserialize_str visit_str "", "string";
        deserialize_string visit_str "", "string";
        deserialize_any visit_str "", "string";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(Probe { noted: self.noted, optional: true })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == "Quantity" {
            self.note(&["string", "number"], Json::Null);
            return visitor.visit_string("0".to_owned());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let inner = RefCell::new(Json::Bool(true));
        let read = visitor.visit_seq(One { noted: &inner, is_done: false });
        self.note(&["array"], json!({"items": inner.into_inner()}));
        read
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut fields = Fields { names: ["key"].iter(), properties: Map::new(), inner: RefCell::new(Json::Null) };
        let read = visitor.visit_map(&mut fields);
        let mut inner = fields.properties.remove("key").unwrap_or(Json::Bool(true));
        // `null` takes an entry away.
        if let Some(types) = inner.get_mut("type").and_then(Json::as_array_mut) {
            types.push("null".into());
        }
        self.note(&["object"], json!({"additionalProperties": inner}));
        read
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut fields = Fields { names: names.iter(), properties: Map::new(), inner: RefCell::new(Json::Null) };
        let read = visitor.visit_map(&mut fields);
        self.note(&["object"], json!({"additionalProperties": false, "properties": fields.properties}));
        read
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
        ignored_any
    }
}

/// A list of one item.
struct One<'n> {
    noted: &'n RefCell<Json>,
    is_done: bool,
}

impl<'de> de::SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if std::mem::replace(&mut self.is_done, true) {
            return Ok(None);
        }
        seed.deserialize(Probe { noted: self.noted, optional: false }).map(Some)
    }
}

/// Every field of a struct, once.
struct Fields {
    names: std::slice::Iter<'static, &'static str>,
    properties: Map<String, Json>,
    inner: RefCell<Json>,
}

impl<'de> de::MapAccess<'de> for &mut Fields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.names.clone().next() else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let read = seed.deserialize(Probe { noted: &self.inner, optional: false });
        if let Some(name) = self.names.next() {
            self.properties.insert((*name).to_owned(), self.inner.replace(Json::Bool(true)));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements, SecurityContext};

    #[test]
    fn the_type_tells_its_fields_and_their_types() {
        let context = schema::<SecurityContext>();
        assert_eq!(context["additionalProperties"], json!(false));
        assert_eq!(context["properties"]["runAsUser"], json!({"type": ["integer", "null"]}));
        assert_eq!(context["properties"]["capabilities"]["properties"]["drop"]["items"], json!({"type": "string"}));
        let resources = schema::<ResourceRequirements>();
        let limit = &resources["properties"]["limits"]["additionalProperties"];
        assert_eq!(*limit, json!({"type": ["string", "number", "null"]}));
        let variable = schema::<EnvVar>();
        let selector = &variable["properties"]["valueFrom"]["properties"]["secretKeyRef"]["properties"];
        assert_eq!(selector["optional"], json!({"type": ["boolean", "null"]}));
    }
}
