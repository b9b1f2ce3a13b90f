//! Settings of one value.

use crate::config::form::Form;
use crate::config::quantity;
use crate::config::reading::Reading;
use crate::config::setting::Setting;
use crate::config::value::Value;
use crate::config::violation::Violation;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value as Json, json};

/// A type whose values are written as one word.
pub(crate) trait Scalar: Sized {
    const FORM: Form;

    fn parse(text: &str) -> Result<Self, Violation>;

    fn json(&self) -> Json;

    fn schema() -> Json;
}

/// Reads one value. What is wrong goes to `reading`.
pub(crate) fn read<T: Scalar>(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<T> {
    let parsed = value.scalar(T::FORM).map_err(|violation| or_better::<T>(value, violation)).and_then(|text| {
        let parsed = T::parse(&text)?;
        reading.rule().map_or(Ok(()), |rule| rule.test(&text))?;
        Ok(parsed)
    });
    parsed.map_err(|violation| reading.problem(value.range(), violation)).ok()
}

/// Quotes would not help a value that is wrong in quotes too.
fn or_better<T: Scalar>(value: &Value<'_>, violation: Violation) -> Violation {
    match value.written() {
        Some(written) if T::FORM == Form::Text && !written.is_empty() => T::parse(written).err().unwrap_or(violation),
        _ => violation,
    }
}

impl<T: Scalar> Setting for T {
    fn read(&mut self, value: &Value<'_>, reading: &mut Reading<'_>) {
        if let Some(read) = read(value, reading) {
            reading.given(value);
            *self = read;
        }
    }

    fn takes_text(&self) -> bool {
        true
    }

    fn json(&self) -> Json {
        Scalar::json(self)
    }

    fn schema(&self) -> Json {
        T::schema()
    }
}

impl<T: Scalar> Setting for Option<T> {
    fn read(&mut self, value: &Value<'_>, reading: &mut Reading<'_>) {
        // An API group may be empty, and then that is its value.
        let is_empty = |text: &str| text.is_empty() && reading.rule().is_none_or(|rule| rule.test("").is_err());
        let is_unset = match value {
            Value::Node { .. } => value.is_null() || value.scalar(T::FORM).is_ok_and(|text| is_empty(&text)),
            // Where `null` is no value of the type, it can only mean: none.
            Value::Text { text, .. } => is_empty(text) || (*text == "null" && T::parse(text).is_err()),
        };
        if is_unset {
            reading.given(value);
            *self = None;
        } else if let Some(read) = read(value, reading) {
            reading.given(value);
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
            let mut types = of_type.as_array().cloned().unwrap_or_else(|| vec![of_type.clone()]);
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
    const FORM: Form = Form::Text;

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
    const FORM: Form = Form::Boolean;

    fn parse(text: &str) -> Result<Self, Violation> {
        match text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Violation::new(format!("must be `true` or `false`, found `{text}`"))),
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
            const FORM: Form = Form::Integer;

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
    const FORM: Form = Form::Quantity;

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
