//! `windows`: pods for Windows nodes, where neither the agent nor wait-for runs.

use crate::agent::ComponentKinds;
use crate::decide::Evaluation;
use report::{Finding, Reason};

impl Evaluation<'_, '_> {
    /// Returns a finding if the pod is for Windows nodes.
    pub(super) fn windows(&self, wanted: ComponentKinds) -> Option<Finding> {
        let field = self.template.windows.as_ref()?;
        let message = format!(
            "the pod is for Windows nodes, which {} does not support",
            wanted.subject()
        );
        Some(self.finding_at(Reason::Windows, message, field.node, &field.pointer))
    }
}
