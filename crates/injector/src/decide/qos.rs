//! `qos-changed`, `qos-refused`: an agent with lower requests than limits takes a pod out of the class Guaranteed.

use crate::agent::shape::AgentResources;
use crate::decide::{Evaluation, NoAgent};
use config::{Config, Qos};
use manifest::qos;
use report::Reason;

impl Evaluation<'_, '_> {
    /// Chooses the agent's requests and limits. With resources at pod level, the class of the pod does not depend on its
    /// containers.
    pub(super) fn resources(&mut self, config: &Config) -> Result<AgentResources, NoAgent> {
        if self.template.pod_resources {
            return Ok(AgentResources::Annotated);
        }
        if qos::keeps_guaranteed(&config.spec.agent.resources)
            || !qos::is_guaranteed(self.tree, self.template)
        {
            return Ok(AgentResources::Configured);
        }
        let help =
            "to keep it, set `qos: keep`, which raises the requests of the agent to its limits";
        match config.spec.qos {
            Qos::Keep => Ok(AgentResources::Guaranteed),
            Qos::Warn | Qos::Allow => {
                let message = "the agent changes the pod's QoS class from Guaranteed to Burstable";
                let warning = self
                    .finding(Reason::QosChanged, message)
                    .with_help(help)
                    .acknowledged_if(config.spec.qos == Qos::Allow);
                self.warnings.push(warning);
                Ok(AgentResources::Configured)
            }
            Qos::Refuse => {
                let message =
                    "the agent would change the pod's QoS class from Guaranteed to Burstable";
                let finding = self.finding(Reason::QosRefused, message).with_help(help);
                Err(NoAgent::refuse(finding).caused_by_setting("qos"))
            }
        }
    }
}
