//! Types that are written as a YAML scalar.

use crate::config::quantity;
use crate::config::scalar_type::ScalarType;
use crate::config::setting::ScalarShape;
use crate::config::violation::Violation;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// A type that is written as a YAML scalar.
pub(crate) trait Scalar: Serialize + Sized {
    const TYPE: ScalarType = ScalarType::Text;

    fn parse(text: &str) -> Result<Self, Violation>;

    fn schema() -> Json;
}

/// Returns the shape of a type.
pub(crate) const fn shape_of<T: Scalar>() -> &'static ScalarShape {
    &const {
        ScalarShape {
            yaml_type: T::TYPE,
            read: |text| T::parse(text).map(|value| json!(value)),
            schema: T::schema,
        }
    }
}

/// Makes scalars the types of settings.
macro_rules! scalars {
    ($($Type:ty),*) => {$(
        impl $crate::config::setting::Shaped for $Type {
            const SHAPE: $crate::config::setting::Shape =
                $crate::config::setting::Shape::Scalar($crate::config::scalar::shape_of::<$Type>());
        }
    )*};
}

/// Makes scalars the types of settings, and writes them as text.
macro_rules! texts {
    ($($Type:ty),*) => {
        $crate::config::scalar::scalars!($($Type),*);

        $(impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                let parsed = <$Type as $crate::config::scalar::Scalar>::parse(&text);
                parsed.map_err(|violation| serde::de::Error::custom(violation.what))
            }
        })*
    };
}

pub(crate) use {scalars, texts};

scalars!(String, bool, u16, u32, Quantity);

impl Scalar for String {
    fn parse(text: &str) -> Result<Self, Violation> {
        Ok(text.to_owned())
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

    fn schema() -> Json {
        json!({"type": ["string", "number"]})
    }
}
