//! The plan for a pod template: the components to add.

use crate::agent::components::Components;
use crate::agent::container::Agent;
use crate::agent::wait_for::WaitFor;
use serde_json::Value;
use std::rc::Rc;

/// The components to add.
pub(crate) type Plan = Components<Rc<Agent>, Rc<WaitFor>>;

impl Plan {
    /// Returns the names of the pull secrets that the pod lacks.
    pub(crate) fn pull_secrets(&self) -> &[String] {
        match self {
            Components::Agent(agent) | Components::Both(agent, _) => &agent.pull_secrets,
            Components::WaitFor(wait_for) => &wait_for.pull_secrets,
        }
    }

    /// Returns the containers to add to the list `field`, in their order.
    pub(crate) fn containers(&self, field: &str) -> Vec<Rc<Value>> {
        let agent = self
            .agent()
            .filter(|agent| agent.sidecar.field() == field)
            .map(|agent| &agent.container);
        let wait_for = self
            .wait_for()
            .filter(|_| field == WaitFor::FIELD)
            .map(|wait_for| &wait_for.container);
        agent.into_iter().chain(wait_for).map(Rc::clone).collect()
    }
}
