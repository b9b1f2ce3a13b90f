//! `knative-features`: Knative's webhook rejects fields of the injected pod unless its features are enabled.

use crate::agent::plan::Plan;
use crate::config::Select;
use crate::decide::Evaluation;
use crate::manifest::pod_template::ContainerList;
use crate::report::Reason;

const GROUP: &str = "serving.knative.dev";

impl Evaluation<'_, '_> {
    /// Adds a note with the features that must be enabled.
    pub(super) fn warn_of_knative(&mut self, plan: &Plan) {
        if self.group() != GROUP {
            return;
        }
        let mut features = Vec::new();
        if plan.agent().is_some() {
            features.push("`kubernetes.podspec-fieldref`");
        }
        if plan.of_list(ContainerList::InitContainers).next().is_some() {
            features.push("`kubernetes.podspec-init-containers`");
        }
        let (noun, are, them) = if features.len() == 1 {
            ("feature", "is", "it")
        } else {
            ("features", "are", "them")
        };
        let message = format!(
            "Knative accepts the pod only with the {noun} {}, which {are} off by default",
            features.join(" and ")
        );
        let help = format!(
            "enable {them} in the ConfigMap `config-features` of Knative, or exclude its kinds: `{}: [{{group: {GROUP}}}]`",
            Select::exclude()
        );
        let finding = self.finding(Reason::KnativeFeatures, message);
        self.warnings.push(finding.with_help(help));
    }
}
