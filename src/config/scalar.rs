//! Scalars as settings.

use crate::config::quantity;
use crate::config::read_context::ReadContext;
use crate::config::scalar_type::ScalarType;
use crate::config::setting::Setting;
use crate::config::value::ConfigValue;
use crate::config::violation::Violation;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value as Json, json};

/// A type that is written as a YAML scalar.
pub(crate) trait Scalar: Sized {
    const TYPE: ScalarType = ScalarType::Text;

    fn parse(text: &str) -> Result<Self, Violation>;

    fn json(&self) -> Json;

    fn schema() -> Json;
}

/// Reads one value; a violation goes to `context`.
pub(crate) fn read<T: Scalar>(value: &ConfigValue<'_>, context: &mut ReadContext<'_>) -> Option<T> {
    let parsed = value
        .scalar(T::TYPE)
        .map_err(|violation| or_better::<T>(value, violation))
        .and_then(|text| {
            let parsed = T::parse(&text)?;
            context
                .constraint()
                .map_or(Ok(()), |constraint| constraint.check(&text))?;
            Ok(parsed)
        });
    parsed
        .map_err(|violation| context.error(value.range(), violation))
        .ok()
}

/// Replaces "put it in quotes" if the value is wrong in quotes too.
fn or_better<T: Scalar>(value: &ConfigValue<'_>, violation: Violation) -> Violation {
    match value.written() {
        Some(written) if T::TYPE == ScalarType::Text && !written.is_empty() => {
            T::parse(written).err().unwrap_or(violation)
        }
        _ => violation,
    }
}

impl<T: Scalar> Setting for T {
    fn read(&mut self, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        if let Some(read) = read(value, context) {
            context.given(value);
            *self = read;
        }
    }

    fn takes_null_text(&self) -> bool {
        T::parse("null").is_ok()
    }

    fn json(&self) -> Json {
        Scalar::json(self)
    }

    fn schema(&self) -> Json {
        T::schema()
    }
}

impl<T: Scalar> Setting for Option<T> {
    fn read(&mut self, value: &ConfigValue<'_>, context: &mut ReadContext<'_>) {
        // Empty text unsets, except for an API group, where it is the core group.
        let is_empty = |text: &str| {
            text.is_empty()
                && context
                    .constraint()
                    .is_none_or(|constraint| constraint.check("").is_err())
        };
        let is_unset = match value {
            ConfigValue::Node { .. } => {
                value.is_null() || value.scalar(T::TYPE).is_ok_and(|text| is_empty(&text))
            }
            // `null` unsets, unless it is a valid value of the type.
            ConfigValue::Text { text, .. } => {
                is_empty(text) || (*text == "null" && T::parse(text).is_err())
            }
        };
        if is_unset {
            context.given(value);
            *self = None;
        } else if let Some(read) = read(value, context) {
            context.given(value);
            *self = Some(read);
        }
    }

    fn takes_null(&self) -> bool {
        true
    }

    fn json(&self) -> Json {
        self.as_ref().map_or(Json::Null, Scalar::json)
    }

    fn schema(&self) -> Json {
        let mut schema = T::schema();
        if let Some(of_type) = schema.get_mut("type") {
            let mut types = of_type
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![of_type.clone()]);
            types.push("null".into());
            *of_type = types.into();
        }
        if let Some(words) = schema.get_mut("enum").and_then(Json::as_array_mut) {
            words.push(Json::Null);
        }
        schema
    }
}

impl Scalar for String {
    fn parse(text: &str) -> Result<Self, Violation> {
        Ok(text.to_owned())
    }

    fn json(&self) -> Json {
        self.as_str().into()
    }

    fn schema() -> Json {
        json!({"type": "string"})
    }
}

impl Scalar for bool {
    const TYPE: ScalarType = ScalarType::Boolean;

    fn parse(text: &str) -> Result<Self, Violation> {
        match text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Violation::new(format!(
                "must be `true` or `false`, found `{text}`"
            ))),
        }
    }

    fn json(&self) -> Json {
        (*self).into()
    }

    fn schema() -> Json {
        json!({"type": "boolean"})
    }
}

macro_rules! whole_numbers {
    ($($Type:ty),*) => {$(
        impl Scalar for $Type {
            const TYPE: ScalarType = ScalarType::Integer;

            fn parse(text: &str) -> Result<Self, Violation> {
                let violation = || Violation::new(format!("must be a whole number up to {}, found `{text}`", <$Type>::MAX));
                if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().map_err(|_| violation()) } else { Err(violation()) }
            }

            fn json(&self) -> Json {
                (*self).into()
            }

            fn schema() -> Json {
                json!({"type": "integer", "minimum": 0, "maximum": <$Type>::MAX})
            }
        }
    )*};
}

whole_numbers!(u16, u32);

impl Scalar for Quantity {
    const TYPE: ScalarType = ScalarType::Quantity;

    fn parse(text: &str) -> Result<Self, Violation> {
        quantity::check(text)?;
        Ok(Quantity(text.to_owned()))
    }

    fn json(&self) -> Json {
        self.0.as_str().into()
    }

    fn schema() -> Json {
        json!({"type": ["string", "number"]})
    }
}
