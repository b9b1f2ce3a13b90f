//! Mackerel roles.
//!
//! Mackerel allows names of services of 2 to 63 letters, digits, hyphens and underscores that begin with a letter or digit
//! (<https://mackerel.io/api-docs/entry/services>). Its API documentation gives no rule for the names of roles: they are taken to
//! follow the same one.

use crate::config::checked::texts;
use crate::config::violation::Violation;
use std::fmt;
use std::str::FromStr;

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

texts! { Role: "pattern" = "^[A-Za-z0-9][A-Za-z0-9_-]{1,62}:[A-Za-z0-9][A-Za-z0-9_-]{1,62}$"; }

impl FromStr for Role {
    type Err = Violation;

    fn from_str(text: &str) -> Result<Self, Violation> {
        // The API refuses other names, and the agent then exits.
        let is_name = |name: &str| {
            (2..=63).contains(&name.len())
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
                && !name.starts_with(['-', '_'])
        };
        let help = match text.split_once(':') {
            Some((service, role)) if is_name(service) && is_name(role) => {
                return Ok(Role {
                    service: service.to_owned(),
                    role: role.to_owned(),
                });
            }
            Some(_) if text.contains(['[', ']', '"']) => {
                "write `service:role`, without brackets and inner quotes"
            }
            Some((service, role)) if !service.is_empty() && !role.is_empty() => {
                "Mackerel allows 2 to 63 letters, digits, `-` and `_` on each side of the colon; the first is a letter or digit"
            }
            _ => "write it as `service:role`",
        };
        Err(Violation::found("a role", text).with_help(help))
    }
}
