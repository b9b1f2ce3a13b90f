//! Objects that must exist before the injected pods start and are not in the input, as the last lines of a report.

use crate::agent::prerequisites::{Permission, Presence, Requirement};
use crate::explain::required::{self, RequirementView};

/// Namespaces that one line names.
const NAMED: usize = 5;

/// One line for all namespaces: the command `rbac` names the accounts.
const PERMISSIONS: &str =
    "required: RBAC for the agents; `mackerel-agent-injector rbac PATH...` prints it";

/// `required in shop and blog: Secret mackerel-container-agent with the key MACKEREL_APIKEY (not in the input)`
pub(crate) fn lines(requirements: &[Requirement], permission: Permission) -> Vec<String> {
    let mut missing = Vec::new();
    for requirement in requirements {
        if !matches!(requirement.presence, Presence::Present { .. }) {
            missing.push(RequirementView::new(requirement, None));
        }
    }
    let mut lines: Vec<String> = required::lines(&missing, NAMED)
        .iter()
        .map(|line| format!("required {line}"))
        .collect();
    if permission == Permission::Manual {
        lines.push(PERMISSIONS.to_owned());
    }
    lines
}
