//! `agent-present`: the template has an agent that this program did not inject.

use crate::decide::Evaluation;
use report::{Finding, Reason};

impl Evaluation<'_, '_> {
    /// Finds a foreign agent. The view of the template has no injected agent.
    pub(super) fn existing_agent(&self) -> Option<Finding> {
        let agent = self
            .template
            .containers
            .iter()
            .find(|container| container.is_agent)?;
        let name = agent.name.as_deref().unwrap_or("without a name");
        let message = format!("container {name} is an agent that this tool did not inject");
        Some(
            self.finding_at(Reason::AgentPresent, message, agent.node, &agent.pointer())
                .with_help("to adopt it, use `inject --adopt`"),
        )
    }
}
