//! `volume-missing`, `volume-conflict`: the mounts of `agent.volumeMounts`.

use crate::agent::container::mount_path;
use crate::config::{AgentSettings, Config};
use crate::decide::{Evaluation, NoAgent};
use crate::mackerel::names::Volume;
use crate::report::Reason;
use k8s_openapi::api::core::v1::VolumeMount;

impl Evaluation<'_, '_> {
    /// Returns the configured mounts whose volumes the pod has, with a warning about the others. With a mount of a volume that is
    /// not there, the API server would refuse the pod.
    ///
    /// # Errors
    /// If two mounts have one path: the API server refuses that too.
    pub(super) fn volume_mounts(&mut self, config: &Config) -> Result<Vec<VolumeMount>, NoAgent> {
        let mut mounts: Vec<VolumeMount> = Vec::new();
        for (index, mount) in config.spec.agent.volume_mounts.iter().enumerate() {
            let VolumeMount {
                name, mount_path, ..
            } = mount;
            let item = AgentSettings::volume_mounts().item(index);
            if !self.has_volume(name) {
                let message = format!(
                    "the pod has no volume `{name}`, so the agent gets no mount at `{mount_path}`"
                );
                let help = format!("add the volume to the pod, or remove `{item}`");
                let finding = self.finding_in_spec(Reason::VolumeMissing, &message, "volumes");
                self.warnings.push(finding.with_help(help));
                continue;
            }
            if is_injected(mount_path, config)
                || mounts
                    .iter()
                    .any(|other| same_path(&other.mount_path, mount_path))
            {
                let message =
                    format!("`{item}` is at `{mount_path}`, where the agent has another mount");
                let help = "use another `mountPath`";
                let refusal = self
                    .finding(Reason::VolumeConflict, message)
                    .with_help(help);
                let setting = AgentSettings::volume_mounts().path;
                return Err(NoAgent::refuse(refusal).caused_by_setting(setting));
            }
            mounts.push(mount.clone());
        }
        Ok(mounts)
    }

    /// Returns true if the pods have a volume of this name.
    fn has_volume(&self, name: &str) -> bool {
        let mut volumes = self.template.volumes.iter();
        if volumes.any(|volume| volume.name.as_deref() == Some(name)) {
            return true;
        }
        // The controller of a StatefulSet adds a volume for each claim template. The webhook sees the pod with these volumes.
        let Some(spec) = self.tree.member(self.resource.node, "spec") else {
            return false;
        };
        let mut claims = self.tree.member_items(spec, "volumeClaimTemplates");
        self.at == "/spec/template"
            && claims.any(|claim| {
                let claim_name = self.tree.member_at(claim, ["metadata", "name"]);
                claim_name
                    .and_then(|claim_name| self.tree.text_of(claim_name))
                    .as_deref()
                    == Some(name)
            })
    }
}

/// Returns true for a folder at which the injector, or Kubernetes, mounts a volume of its own.
fn is_injected(path: &str, config: &Config) -> bool {
    Volume::ALL.into_iter().any(|volume| {
        let is_mounted =
            volume != Volume::Config || config.spec.agent.config.config_map_key_ref.name.is_some();
        is_mounted && same_path(mount_path(volume), path)
    })
}

/// Compares two paths as the container runtime reads them: `/var//tmp/` and `/var/./tmp` are `/var/tmp`.
fn same_path(one: &str, other: &str) -> bool {
    let names = |path| str::split(path, '/').filter(|name| !matches!(*name, "" | "."));
    names(one).eq(names(other))
}
