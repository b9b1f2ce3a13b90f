//! YAML types of single values.

/// The YAML type that a document must give a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarType {
    Text,
    Integer,
    Boolean,
    /// A string or a number, as Kubernetes allows for quantities.
    Quantity,
}

impl ScalarType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ScalarType::Text => "a string",
            ScalarType::Integer => "a whole number",
            ScalarType::Boolean => "true or false",
            ScalarType::Quantity => "a quantity",
        }
    }

    /// Returns true if the text would have this type without its quotes.
    pub(crate) fn fits(self, text: &str) -> bool {
        match self {
            ScalarType::Integer => text.parse::<i64>().is_ok(),
            ScalarType::Boolean => matches!(text, "true" | "false"),
            ScalarType::Text | ScalarType::Quantity => true,
        }
    }
}
