//! What users set: one type, whatever door it came in by.

/// The validated configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {}
