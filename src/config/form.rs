//! The form in which a document writes a single value.

/// The form in which a document must write a value.
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
