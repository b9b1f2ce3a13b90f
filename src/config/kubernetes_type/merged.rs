//! A setting of a Kubernetes type that has a default: what is given is merged into it field by field, lists as a whole,
//! and `null` takes a field away.

use super::located::{self, Found};
use crate::config::reading::Reading;
use crate::config::setting::Setting;
use crate::config::value::Value;
use k8s_openapi::api::core::v1::{ResourceRequirements, SecurityContext};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

macro_rules! merged {
    ($($Type:ty),*) => {$(
        impl Setting for $Type {
            fn read(&mut self, value: &Value<'_>, reading: &mut Reading<'_>) {
                merge(self, &[], value, reading);
            }

            fn set(&mut self, path: &[String], value: &Value<'_>, reading: &mut Reading<'_>) {
                merge(self, path, value, reading);
            }

            fn takes_null(&self) -> bool {
                true
            }

            fn json(&self) -> Json {
                // `{}` would mean: nothing to merge.
                if *self == <$Type>::default() { Json::Null } else { json!(self) }
            }

            fn schema(&self) -> Json {
                let mut schema = super::schema::<$Type>();
                if let Some(of_type) = schema.get_mut("type") {
                    *of_type = json!(["object", "null"]);
                }
                schema
            }
        }
    )*};
}

merged!(ResourceRequirements, SecurityContext);

fn merge<T: Serialize + DeserializeOwned + Default>(
    into: &mut T,
    path: &[String],
    value: &Value<'_>,
    reading: &mut Reading<'_>,
) {
    let is_null = value.is_null() || matches!(value, Value::Text { text: "null", .. });
    if path.is_empty() && is_null {
        reading.given(value);
        *into = T::default();
        return;
    }
    let Some((given, found)) = located::read::<T>(value, path, reading) else { return };
    let mut merged = json!(into);
    apply(&mut merged, &json!(given), &found);
    // Both sides are of the type, and so is what they give together.
    if let Ok(merged) = serde_json::from_value(merged) {
        *into = merged;
    }
    for (trail, range) in found.given.iter().chain(&found.nulls) {
        reading.given_below(trail, range.clone());
    }
}

/// Copies what was given. What was not is left alone, although the type shows a default for it: in
/// `seccompProfile: {localhostProfile: a}` there is no `type`, and none is copied.
fn apply(merged: &mut Json, given: &Json, found: &Found) {
    for (trail, _) in &found.given {
        let mut from = given;
        let mut to = &mut *merged;
        for part in trail.iter().map(|part| unescape(part)) {
            let Some(inner) = from.get(&part) else { break };
            from = inner;
            if !to.is_object() {
                *to = Json::Object(Map::new());
            }
            to = &mut to[part];
        }
        *to = from.clone();
    }
    for (trail, _) in &found.nulls {
        remove(merged, trail);
    }
}

/// Takes a field away, and its parent when nothing else is in it.
fn remove(from: &mut Json, trail: &[String]) {
    let [part, rest @ ..] = trail else { return };
    let part = unescape(part);
    let Some(object) = from.as_object_mut() else { return };
    if let (Some(inner), false) = (object.get_mut(&part), rest.is_empty()) {
        remove(inner, rest);
        if inner.as_object().is_none_or(|inner| !inner.is_empty()) {
            return;
        }
    }
    object.shift_remove(&part);
}

fn unescape(part: &str) -> String {
    crate::config::path::parts(part).concat()
}
