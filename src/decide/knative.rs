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
        let has_init_container = plan.of_list(ContainerList::InitContainers).next().is_some();
        let field_ref = plan.agent().map(|_| "`kubernetes.podspec-fieldref`");
        let init_containers = has_init_container.then_some("`kubernetes.podspec-init-containers`");
        let features: Vec<&str> = field_ref.into_iter().chain(init_containers).collect();
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
        self.warnings.push(
            self.finding(Reason::KnativeFeatures, message)
                .with_help(help),
        );
    }
}
