//! `volume-missing`, `volume-unused`, `volume-conflict`: the mounts of `agent.volumeMounts`.

use crate::decide::{Evaluation, NoAgent};
use config::{AgentSettings, AgentVolume, Config};
use k8s_openapi::api::core::v1::VolumeMount;
use report::{Finding, Reason};
use yaml_json_patch::NodeId;

/// An item of a container's `volumeDevices`.
struct VolumeDevice {
    node: NodeId,
    /// JSON Pointer from the template.
    pointer: String,
}

impl Evaluation<'_, '_> {
    /// Returns the configured mounts whose volumes the pod has, with a warning about the others. With a mount of a volume that is
    /// not there, the API server would refuse the pod; with one of a block device, the kubelet would not start it.
    ///
    /// # Errors
    /// If a mount is where the agent has its configuration: the API server refuses that too.
    pub(super) fn volume_mounts(&mut self, config: &Config) -> Result<Vec<VolumeMount>, NoAgent> {
        let mut mounts: Vec<VolumeMount> = Vec::new();
        for (index, mount) in config.spec.agent.volume_mounts.iter().enumerate() {
            let VolumeMount {
                name, mount_path, ..
            } = mount;
            let item = format!("agent.volumeMounts[{index}]");
            let is_configured = config.spec.agent.has_volume(name);
            let consequence = format!("so the agent gets no mount at `{mount_path}`");
            if let Some(device) = self.device(name).filter(|_| !is_configured) {
                let message =
                    format!("the volume `{name}` of the pod is a block device, {consequence}");
                let finding = self
                    .finding_at(Reason::VolumeMissing, message, device.node, &device.pointer)
                    .with_help(format!("remove `{item}`"));
                self.warnings.push(finding);
                continue;
            }
            if !is_configured && !self.has_volume(name) {
                let message = format!("the pod has no volume `{name}`, {consequence}");
                // Without a volume of its own, the pod may still have those of an earlier injection.
                let field = if self.template.volumes.is_empty() {
                    "containers"
                } else {
                    "volumes"
                };
                let help = format!(
                    "add the volume to the pod, or remove `{item}`; if the agent does not need it in this pod, add `{}` to the \
                     annotation `ignore-warnings`",
                    Reason::VolumeMissing.id(),
                );
                let finding = self
                    .finding_in_spec(Reason::VolumeMissing, message, field)
                    .with_help(help);
                self.warnings.push(finding);
                continue;
            }
            // Only an annotation that names a ConfigMap can cause this: `config` refuses it in the configuration.
            if let Some(violation) = config.spec.agent.taken_path(index) {
                let refusal = Finding {
                    help: violation.help,
                    ..self.finding(Reason::VolumeConflict, violation.what)
                };
                let setting = "agent.volumeMounts";
                return Err(NoAgent::refuse(refusal).caused_by_setting(setting));
            }
            if !is_configured {
                mounts.push(mount.clone());
            }
        }
        self.warn_of_unused_volumes(&config.spec.agent);
        Ok(mounts)
    }

    fn warn_of_unused_volumes(&mut self, agent: &AgentSettings) {
        for AgentVolume { name, .. } in &agent.volumes {
            if agent.volume_mounts.iter().all(|mount| mount.name != *name) {
                let message = format!("nothing mounts the volume `{name}` of `agent.volumes`");
                let help = "add a mount to `agent.volumeMounts`, or remove the volume";
                self.warnings
                    .push(self.finding(Reason::VolumeUnused, message).with_help(help));
            }
        }
    }

    /// Returns the first item of a container's `volumeDevices` that uses the volume as a block device: such a volume has no files
    /// to mount.
    fn device(&self, name: &str) -> Option<VolumeDevice> {
        for container in &self.template.containers {
            let devices = self.tree.member_items(container.node, "volumeDevices");
            for (index, node) in devices.enumerate() {
                if self.tree.member_text(node, "name").as_deref() == Some(name) {
                    let container = container.pointer();
                    let pointer = format!("{container}/volumeDevices/{index}");
                    return Some(VolumeDevice { node, pointer });
                }
            }
        }
        None
    }

    /// Returns true if the pods have a volume of this name.
    fn has_volume(&self, name: &str) -> bool {
        let volumes = &self.template.volumes;
        if volumes
            .iter()
            .any(|volume| volume.name.as_deref() == Some(name))
        {
            return true;
        }
        // The controller of a StatefulSet adds a volume for each claim template. The webhook sees the pod with these volumes.
        let Some(spec) = self.tree.member(self.resource.node, "spec") else {
            return false;
        };
        self.at == "/spec/template"
            && self
                .tree
                .member_items(spec, "volumeClaimTemplates")
                .any(|claim| self.claim_name(claim).as_deref() == Some(name))
    }

    fn claim_name(&self, claim: NodeId) -> Option<String> {
        let name = self.tree.member_at(claim, ["metadata", "name"])?;
        self.tree.text_of(name)
    }
}
