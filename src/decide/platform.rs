//! The platform of `platform: auto`.

use crate::config::{Config, Platform};
use crate::decide::Evaluation;
use crate::mackerel::names::{FARGATE_LABEL, FARGATE_SCHEDULER};
use std::borrow::Cow;

impl Evaluation<'_, '_> {
    /// Replaces `auto` by EKS Fargate for a pod that shows it. Settings of the kubelet are for the nodes.
    pub(super) fn platform<'c>(&self, mut config: Cow<'c, Config>) -> Cow<'c, Config> {
        if config.spec.platform == Platform::Auto && self.is_for_fargate() {
            config.to_mut().spec.platform = Platform::EksFargate;
        }
        config
    }

    /// Returns true for a pod on EKS Fargate. EKS sets the label and the scheduler when a pod is created.
    fn is_for_fargate(&self) -> bool {
        let mut labels = self.template.labels.iter();
        let scheduler = self.template.spec;
        let scheduler = scheduler.and_then(|spec| self.tree.member_text(spec, "schedulerName"));
        labels.any(|(key, _)| key == FARGATE_LABEL)
            || scheduler.as_deref() == Some(FARGATE_SCHEDULER)
    }
}
