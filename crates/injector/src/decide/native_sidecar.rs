//! `native-unsupported`, `native-refused`, `never-completes`: Jobs and other pods that complete get a native sidecar.

use crate::decide::{Evaluation, NoAgent};
use config::{Config, KubernetesVersion, SidecarKind};
use mackerel::annotations::Annotation;
use mackerel::names::Sidecar;
use report::Reason;

impl Evaluation<'_, '_> {
    /// Chooses the kind of sidecar. `auto` follows the restart policy that the pod will have, so that every front end and a webhook
    /// agree.
    pub(super) fn native_sidecar(&mut self, config: &Config) -> Result<Sidecar, NoAgent> {
        let completes = self.template.completes;
        let version = config.spec.kubernetes_version;
        let old = version < KubernetesVersion::NATIVE_SIDECARS;
        match config.spec.sidecar {
            SidecarKind::Container if completes => {
                let message = "the pod runs to completion, but the agent as a regular container prevents that";
                let help = "set `sidecar: auto` to inject the agent as a native sidecar, which terminates with the other containers";
                self.warnings.push(
                    self.finding(Reason::NeverCompletes, message)
                        .with_help(help),
                );
                Ok(Sidecar::Container)
            }
            SidecarKind::Container => Ok(Sidecar::Container),
            SidecarKind::Auto if !completes => Ok(Sidecar::Container),
            SidecarKind::Auto | SidecarKind::Native if !old => Ok(Sidecar::Native),
            SidecarKind::Auto => {
                let message = format!(
                    "the pod runs to completion and needs a native sidecar, which Kubernetes {version} does not support"
                );
                let finding = self.finding(Reason::NativeUnsupported, message);
                Err(NoAgent::skip(finding).caused_by_setting("kubernetesVersion"))
            }
            SidecarKind::Native => {
                let message = format!("`sidecar: native` is not supported by Kubernetes {version}");
                let help = "raise `kubernetesVersion`, or set `sidecar` to `auto` or `container`";
                let finding = self.finding(Reason::NativeRefused, message).with_help(help);
                let refusal = NoAgent::refuse(self.at_request(finding, Annotation::Sidecar));
                match self.template.annotation(Annotation::Sidecar.key()) {
                    Some(_) => Err(refusal),
                    None => Err(refusal.caused_by_setting("sidecar")),
                }
            }
        }
    }
}
