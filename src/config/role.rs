//! A Mackerel role.

use std::fmt;

/// A role within a service, written `service:role`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The service.
    pub service: String,
    /// The role in it.
    pub role: String,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.service, self.role)
    }
}
