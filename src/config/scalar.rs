//! Settings of one value.

use super::quantity;
use super::reading::{Complaint, Reading};
use super::setting::Setting;
use super::value::Value;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value as Json, json};

/// What a document must write for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Integer,
    Boolean,
    /// Text, or a number as Kubernetes allows it for quantities.
    Quantity,
}

impl Form {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Text => "a string",
            Form::Integer => "a whole number",
            Form::Boolean => "true or false",
            Form::Quantity => "a quantity",
        }
    }

    /// Whether a text would be of this form without its quotes.
    pub(crate) fn fits(self, text: &str) -> bool {
        match self {
            Form::Integer => text.parse::<i64>().is_ok(),
            Form::Boolean => matches!(text, "true" | "false"),
            Form::Text | Form::Quantity => true,
        }
    }
}

/// A type whose values are written as one word.
pub(crate) trait Scalar: Sized {
    const FORM: Form;

    fn parse(text: &str) -> Result<Self, Complaint>;

    fn json(&self) -> Json;

    fn schema() -> Json;
}

/// Reads one value. What is wrong goes to `reading`.
pub(crate) fn read<T: Scalar>(value: &Value<'_>, reading: &mut Reading<'_>) -> Option<T> {
    let parsed = value.scalar(T::FORM).map_err(|complaint| or_better::<T>(value, complaint)).and_then(|text| {
        let parsed = T::parse(&text)?;
        reading.rule().map_or(Ok(()), |rule| rule.test(&text))?;
        Ok(parsed)
    });
    parsed.map_err(|complaint| reading.problem(value.range(), complaint)).ok()
}

/// Quotes would not help a value that is wrong in quotes too.
fn or_better<T: Scalar>(value: &Value<'_>, complaint: Complaint) -> Complaint {
    match value.written() {
        Some(written) if T::FORM == Form::Text && !written.is_empty() => T::parse(written).err().unwrap_or(complaint),
        _ => complaint,
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

    fn parse(text: &str) -> Result<Self, Complaint> {
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

    fn parse(text: &str) -> Result<Self, Complaint> {
        match text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Complaint::new(format!("must be `true` or `false`, found `{text}`"))),
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

            fn parse(text: &str) -> Result<Self, Complaint> {
                let complaint = || Complaint::new(format!("must be a whole number up to {}, found `{text}`", <$Type>::MAX));
                if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().map_err(|_| complaint()) } else { Err(complaint()) }
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

    fn parse(text: &str) -> Result<Self, Complaint> {
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
