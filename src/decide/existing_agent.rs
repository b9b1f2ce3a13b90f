//! `agent-present`: the template has an agent that this program did not inject.

use crate::agent::existing::is_agent;
use crate::decide::Evaluation;
use crate::report::{Finding, Reason};

impl Evaluation<'_, '_> {
    /// Finds a foreign agent. An injected one is not in the view: its record has had it removed.
    pub(super) fn existing_agent(&self) -> Option<Finding> {
        let present = self
            .template
            .containers
            .iter()
            .find(|container| is_agent(self.tree, container))?;
        let name = present.name.as_deref().unwrap_or("without a name");
        let message = format!("container {name} is an agent that this tool did not inject");
        let pointer = format!(
            "{}/spec/{}/{}",
            self.at,
            present.list.field(),
            present.index
        );
        let finding = Finding::new(
            Reason::AgentPresent,
            message,
            self.tree.place(present.node).start,
            &pointer,
        );
        Some(finding.with_help("to adopt it, use `inject --adopt`"))
    }
}
