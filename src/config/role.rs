//! Mackerel roles.

use crate::config::scalar::Scalar;
use crate::config::violation::Violation;
use serde_json::{Value as Json, json};
use std::fmt;

/// A role within a service, written `service:role`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) service: String,
    pub(crate) role: String,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.service, self.role)
    }
}

impl Scalar for Role {
    fn parse(text: &str) -> Result<Self, Violation> {
        // The agent does not trim names: the API refuses `shop: web`, and the agent exits.
        let is_name = |name: &str| {
            !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, ':' | ','))
        };
        match text.split_once(':') {
            Some((service, role)) if is_name(service) && is_name(role) => {
                Ok(Role { service: service.to_owned(), role: role.to_owned() })
            }
            _ => Err(Violation::new(format!("must be a role, found `{text}`")).with_help("write it as `service:role`")),
        }
    }

    fn json(&self) -> Json {
        self.to_string().into()
    }

    fn schema() -> Json {
        json!({"type": "string", "pattern": "^[^:,\\s]+:[^:,\\s]+$"})
    }
}
