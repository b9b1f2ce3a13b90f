//! Knative takes fewer pods than Kubernetes does: what its own webhook would refuse of the pod that comes out.

use crate::agent::plan::Plan;
use crate::decide::Evaluation;
use crate::mackerel::names::Sidecar;
use crate::report::Reason;

const GROUP: &str = "serving.knative.dev";

impl Evaluation<'_, '_> {
    /// Says what Knative must be told for it to take the template.
    pub(super) fn warn_of_knative(&mut self, plan: &Plan) {
        if self.group() != GROUP {
            return;
        }
        let agent = plan.agent().map(|agent| agent.sidecar);
        let goes_before = plan.wait_for().is_some() || agent == Some(Sidecar::Native);
        let of_agent = agent.map(|_| "`kubernetes.podspec-fieldref`");
        let of_init_container = goes_before.then_some("`kubernetes.podspec-init-containers`");
        let features: Vec<&str> = of_agent.into_iter().chain(of_init_container).collect();
        let (noun, are, them) = if features.len() == 1 { ("feature", "is", "it") } else { ("features", "are", "them") };
        let message = format!(
            "Knative takes the pod only with the {noun} {}, which {are} off by default",
            features.join(" and ")
        );
        let help = format!(
            "enable {them} in the ConfigMap `config-features` of Knative, or leave its kinds out: `select.exclude: [{{group: {GROUP}}}]`"
        );
        let note = self.finding(Reason::KnativeFeatures, message).with_help(help);
        self.warnings.push(note);
    }
}
