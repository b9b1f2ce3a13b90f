//! `windows`: pods for Windows nodes, where neither the agent nor wait-for runs.

use crate::agent::ComponentKinds;
use crate::decide::Evaluation;
use crate::report::{Finding, Reason};

impl Evaluation<'_, '_> {
    pub(super) fn windows(&self, wanted: ComponentKinds) -> Option<Finding> {
        let field = self.template.windows.as_ref()?;
        let message = format!(
            "the pod is for Windows nodes, which {} does not support",
            wanted.subject()
        );
        let pointer = format!("{}/spec{}", self.at, field.pointer);
        Some(Finding::new(
            Reason::Windows,
            message,
            self.tree.place(field.node).start,
            &pointer,
        ))
    }
}
