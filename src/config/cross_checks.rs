//! Checks across settings: values that are valid alone but not together.

use crate::config::Config;
use crate::config::agent::{
    AgentConfig, AgentSettings, ConfigMapKeyRef, HostIdStore, Tmp, real_path,
};
use crate::config::container_rules;
use crate::config::rows::of_variable;
use crate::config::select::{KindPattern, NamespacePattern, Select, is_system_namespace};
use crate::config::setting::SettingRow;
use crate::config::spec::{Kubelet, Platform, SidecarKind, Spec, WaitForSettings};
use crate::config::version::KubernetesVersion;
use crate::config::violation::{Conflict, Violation};
use crate::diagnostic::closest::closest;
use crate::mackerel::annotations;
use crate::mackerel::env::{EnvOverride, TMPDIR, Variable, VariableForm};
use crate::mackerel::names::is_agent_image;
use k8s_openapi::api::core::v1::{EnvVar, VolumeMount};
use std::collections::HashMap;

/// Returns all conflicts of a configuration, in a fixed order.
pub(crate) fn conflicts(config: &Config) -> Vec<Conflict> {
    let mut found = Vec::new();
    sidecar(config, &mut found);
    duplicate_variables(&config.spec.agent.env, &mut found);
    mount_paths(&config.spec.agent, &mut found);
    security_context(config, &mut found);
    found.extend(template_conflicts(config));
    found
}

/// Returns the conflicts that annotations can cause. `sidecar: native` on an older cluster is not among them: `decide`
/// refuses such a template (`native-refused`).
pub(crate) fn template_conflicts(config: &Config) -> Vec<Conflict> {
    let mut found = Vec::new();
    kubelet(config, &mut found);
    agent_config(config, &mut found);
    environment(config, &mut found);
    scratch_space(config, &mut found);
    resources(config, &mut found);
    namespaces(config, &mut found);
    kinds(config, &mut found);
    wait_for(config, &mut found);
    found
}

/// Returns the settings that cannot be followed by a reader that sees pods alone.
pub(crate) fn pod_conflicts(config: &Config, reader: &str) -> Vec<Conflict> {
    let select = &config.spec.select;
    let mut found = Vec::new();
    if !select.kinds.is_empty() {
        let kinds = Select::kinds();
        let why = "a pod does not show the kind of its workload";
        found.push(unsupported(
            reader,
            kinds.path,
            why,
            help(kinds, "remove it"),
        ));
    }
    for (index, exclusion) in select.exclude.iter().enumerate() {
        if exclusion.names_workload() {
            let place = Select::exclude().item(index);
            let why = "a pod does not show its workload";
            let instead = "exclude by `namespace` or `podSelector`, or pods without a controller by `kind: Pod`";
            let help = help(Select::exclude(), instead);
            found.push(unsupported(reader, &place, why, help));
        }
    }
    found
}

/// A setting, or an item of one at `place`, that the reader cannot follow.
fn unsupported(reader: &str, place: &str, why: &str, help: String) -> Conflict {
    let what = format!("{reader} does not support `{place}`: {why}");
    Conflict::of(&[place], what, help)
}

fn help(setting: &SettingRow, instead: &str) -> String {
    format!("{instead}; for a file that manifests share, add `--set {setting}=null`")
}

fn sidecar(config: &Config, found: &mut Vec<Conflict>) {
    let version = config.spec.kubernetes_version;
    if config.spec.sidecar == SidecarKind::Native && version < KubernetesVersion::NATIVE_SIDECARS {
        found.push(Conflict::of(
            &[Spec::sidecar().path, Spec::kubernetes_version().path],
            format!("`sidecar: native` requires Kubernetes 1.29 or later, but `kubernetesVersion` is {version}"),
            "raise `kubernetesVersion`, or set `sidecar: auto`",
        ));
    }
}

/// Finds variables with the name of an earlier one.
fn duplicate_variables(variables: &[EnvVar], found: &mut Vec<Conflict>) {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (index, EnvVar { name, .. }) in variables.iter().enumerate() {
        let Some(first) = known.get(&**name) else {
            known.insert(name, index);
            continue;
        };
        let first = AgentSettings::env().item(*first);
        let item = AgentSettings::env().item(index);
        let what = format!("`{item}` has the same `name` as `{first}`: `{name}`");
        let help = "use another `name`, or remove one of them";
        found.push(Conflict::of(&[&item, &first], what, help));
    }
}

/// Finds mounts at a path where the agent or an earlier item has a mount: pods with both would not start.
fn mount_paths(agent: &AgentSettings, found: &mut Vec<Conflict>) {
    let mut known: HashMap<String, String> = HashMap::new();
    for (index, VolumeMount { mount_path, .. }) in agent.volume_mounts.iter().enumerate() {
        let item = AgentSettings::volume_mounts().item(index);
        if let Some(violation) = agent.taken_path(index) {
            let paths = vec![item];
            found.push(Conflict { paths, violation });
            continue;
        }
        let folder = format!("/{}", real_path(mount_path));
        let Some(first) = known.get(&folder) else {
            known.insert(folder, item);
            continue;
        };
        let mut what = format!("`{item}` has the same `mountPath` as `{first}`: `{mount_path}`");
        if *mount_path != folder {
            what += &format!(", which is `{folder}`");
        }
        let help = "use another `mountPath`, or remove one of them";
        found.push(Conflict::of(&[&item, first], what, help));
    }
}

fn kubelet(config: &Config, found: &mut Vec<Conflict>) {
    let kubelet = &config.spec.kubelet;
    let (port, insecure_tls) = (Kubelet::port(), Kubelet::insecure_tls());
    let read_only = Kubelet::read_only_port();
    // An explicit port counts even if it is the default.
    let mut of_tls = Vec::new();
    of_tls.extend(config.is_explicit(port.path).then_some(port));
    of_tls.extend(kubelet.insecure_tls.then_some(insecure_tls));
    if config.spec.platform == Platform::EksFargate {
        let chosen = kubelet.read_only_port.map(|_| read_only);
        for setting in chosen.into_iter().chain(of_tls) {
            found.push(Conflict::of(
                &[setting.path, Spec::platform().path],
                format!("`{setting}` cannot be combined with `platform: eks-fargate`: pods on EKS Fargate cannot reach a kubelet"),
                "remove one of them",
            ));
        }
        return;
    }
    if kubelet.read_only_port.is_none() {
        return;
    }
    // `--set` cannot reset what an annotation sets.
    let help = match config.is_annotated(read_only.path) {
        true => "remove one of them".to_owned(),
        false => format!("remove one of them; `--set {read_only}=null` restores the TLS port"),
    };
    for setting in of_tls {
        found.push(Conflict::of(
            &[read_only.path, setting.path],
            format!(
                "`{read_only}` and `{setting}` cannot be combined: the read-only port has no TLS"
            ),
            &*help,
        ));
    }
}

fn agent_config(config: &Config, found: &mut Vec<Conflict>) {
    let agent_config = &config.spec.agent.config;
    let (key, name) = (ConfigMapKeyRef::key(), ConfigMapKeyRef::name());
    let location = AgentConfig::location();
    // A key in the configuration may serve ConfigMaps that annotations name.
    if config.is_annotated(key.path) {
        let no_effect = |why: &str| format!("`{key}` has no effect: {why}");
        if agent_config.location.is_some() {
            found.push(Conflict::of(
                &[key.path, location.path],
                no_effect(&format!(
                    "the agent reads `{location}`, not a key of a ConfigMap"
                )),
                "remove one of them",
            ));
        } else if agent_config.config_map_key_ref.name.is_none() {
            found.push(Conflict::of(
                &[key.path],
                no_effect("the name of the ConfigMap is not set"),
                "set the annotation `agent-config-configmap-name` as well, or remove the key",
            ));
        }
    }
    // The annotation may name a file within the ConfigMap's folder, as with the original injector.
    if config.is_annotated(location.path) {
        return;
    }
    if agent_config.location.is_some() && agent_config.config_map_key_ref.name.is_some() {
        found.push(Conflict::of(
            &[location.path, name.path],
            format!(
                "`{location}` and `{name}` cannot be combined: the agent reads one configuration"
            ),
            "remove one of them",
        ));
    }
}

/// Finds variables of `agent.env` that replace an explicit setting.
fn environment(config: &Config, found: &mut Vec<Conflict>) {
    for (index, given) in config.spec.agent.env.iter().enumerate() {
        let Some((setting, variable)) = of_variable(&given.name) else {
            continue;
        };
        let item = AgentSettings::env().item(index);
        match variable.env_override {
            EnvOverride::Forbidden => found.push(Conflict::of(
                &[&item],
                format!("`{item}` sets {}, which `{setting}` controls", given.name),
                format!("set `{setting}` instead"),
            )),
            EnvOverride::IfUnset if config.is_explicit(setting.path) => found.push(Conflict::of(
                &[setting.path, &item],
                format!(
                    "`{setting}` has no effect because `{item}` sets {}",
                    given.name
                ),
                "remove one of them",
            )),
            EnvOverride::IfUnset if given.value_from.is_some() => {}
            EnvOverride::IfUnset => {
                let wrong = wrong_value(setting, variable, given.value.as_deref().unwrap_or(""));
                found.extend(wrong.map(|violation| {
                    let what = format!("`{item}` is {}: it {}", given.name, violation.what);
                    Conflict {
                        paths: vec![item],
                        violation: Violation { what, ..violation },
                    }
                }));
            }
        }
    }
}

/// Finds settings that need a folder to write to, where `agent.tmp` is `null`.
fn scratch_space(config: &Config, found: &mut Vec<Conflict>) {
    let agent = &config.spec.agent;
    if agent.tmp.is_some() {
        return;
    }
    let (tmp, store) = (AgentSettings::tmp(), AgentSettings::host_id_store());
    let mut check = |needs: bool, path: &str| {
        let what = format!("`{path}` needs a folder to write to, but `{tmp}` is `null`");
        let conflict = Conflict::of(&[path, tmp.path], what, "remove one of them");
        found.extend(needs.then_some(conflict));
    };
    check(agent.host_id_store == HostIdStore::File, store.path);
    for (index, EnvVar { name, value, .. }) in agent.env.iter().enumerate() {
        let is_file = value.as_deref() == Some(HostIdStore::File.as_str());
        let needs = (name == TMPDIR && agent.volume_mounts.is_empty())
            || (name == store.variable_name() && is_file);
        check(needs, &AgentSettings::env().item(index));
    }
}

/// Rejects a variable's value that its setting would not take: the agent exits on most of them. An empty value unsets a variable,
/// and one with a reference to another variable is not known here.
fn wrong_value(setting: &SettingRow, variable: Variable, value: &str) -> Option<Violation> {
    let (setting, value) = match variable.form {
        VariableForm::SecretKey => {
            let help = "remove it; the agent reads the key from the Secret of `apiKey`";
            return Some(
                Violation::new("must come by `valueFrom`, not as plain text").with_help(help),
            );
        }
        _ if value.is_empty() || value.contains("$(") => return None,
        VariableForm::ConfigFile => (AgentConfig::location(), value.to_owned()),
        VariableForm::List => (setting, role_list(value)),
        VariableForm::Text | VariableForm::IgnorePattern | VariableForm::Connection => {
            (setting, value.to_owned())
        }
    };
    let violations = Config::default().set_by_annotation(setting.path, &value, variable.name, 0);
    violations.into_iter().next()
}

/// Converts `a:b, c:d`, the form of annotations and of the agent's variable, to JSON.
pub(crate) fn role_list(value: &str) -> String {
    let items = value
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    serde_json::Value::from_iter(items).to_string()
}

fn resources(config: &Config, found: &mut Vec<Conflict>) {
    let agent = &config.spec.agent;
    found.extend(container_rules::amounts(
        AgentSettings::resources(),
        &agent.resources,
    ));
    let tmp = agent.tmp.as_ref();
    if let Some(limit) = tmp.and_then(|tmp| tmp.size_limit.as_ref()) {
        let wrong = container_rules::fraction("memory", &limit.0);
        let path = vec![Tmp::size_limit().path.to_owned()];
        found.extend(wrong.map(|violation| Conflict::about(path, violation)));
    }
}

fn security_context(config: &Config, found: &mut Vec<Conflict>) {
    for rule in container_rules::broken(&config.spec.agent.security_context.0) {
        let path = |field| format!("{}.{field}", AgentSettings::security_context());
        found.push(Conflict {
            paths: rule.fields.iter().map(path).collect(),
            violation: rule.violation(),
        });
    }
}

fn namespaces(config: &Config, found: &mut Vec<Conflict>) {
    let select = &config.spec.select;
    for (index, namespace) in select.namespaces.iter().enumerate() {
        let item = Select::namespaces().item(index);
        let excludes = |pattern: &&NamespacePattern| {
            *pattern == namespace || (namespace.is_name() && pattern.matches(&namespace.0))
        };
        let mut excluding = select.exclude_namespaces.iter().enumerate();
        if let Some((excluded, pattern)) = excluding.find(|(_, pattern)| excludes(pattern)) {
            let by = if pattern == namespace {
                String::new()
            } else {
                format!(", as `{pattern}`")
            };
            found.push(Conflict::of(
                &[&item, &Select::exclude_namespaces().item(excluded)],
                format!(
                    "`{namespace}` is both in `{}` and in `{}`{by}",
                    Select::namespaces(),
                    Select::exclude_namespaces()
                ),
                "remove it from one of them",
            ));
        }
        if is_system_namespace(&namespace.0) && !select.system_namespaces {
            found.push(Conflict::of(
                &[&item, Select::system_namespaces().path],
                format!(
                    "`{}` contains `{namespace}`, but system namespaces are excluded",
                    Select::namespaces()
                ),
                format!("remove it, or set `{}: true`", Select::system_namespaces()),
            ));
        }
    }
}

fn wait_for(config: &Config, found: &mut Vec<Conflict>) {
    let (image, names) = (
        &config.spec.wait_for.image,
        &config.spec.wait_for.annotations,
    );
    if let Some(image) = image.as_deref().filter(|image| is_agent_image(image)) {
        let violation = Violation::new(format!(
            "must be an image of mackerel-agent-injector, but `{image}` is the agent"
        ));
        found.push(Conflict::about(
            vec![WaitForSettings::image().path.to_owned()],
            violation.with_help("use an image of mackerel-agent-injector"),
        ));
    }
    for (index, name) in names.iter().enumerate() {
        let (what, help) = if name.starts_with(annotations::PREFIX) {
            (
                "is an annotation of mackerel-agent-injector and cannot be a further name",
                "remove it",
            )
        } else if names.iter().take(index).any(|other| other == name) {
            ("is duplicated", "remove one of them")
        } else {
            continue;
        };
        let annotations = WaitForSettings::annotations();
        let what = format!("`{annotations}` has `{name}`, which {what}");
        found.push(Conflict::of(&[&annotations.item(index)], what, help));
    }
}

/// Finds kinds in `select` that are not known to hold a pod template.
fn kinds(config: &Config, found: &mut Vec<Conflict>) {
    let select = &config.spec.select;
    if select.kinds.is_empty() && select.exclude.is_empty() {
        return;
    }
    let table = config.workloads();
    let meant = |kind: &str| closest(kind, table.kinds().map(|known| known.kind));
    for (index, pattern) in select.kinds.iter().enumerate() {
        if table.knows(pattern.group.as_deref(), &pattern.kind) {
            continue;
        }
        let same_kind = table.kinds().find(|known| known.kind == pattern.kind);
        let help = match (same_kind, meant(&pattern.kind)) {
            (Some(known), _) => {
                let meant = KindPattern {
                    group: Some(known.group.to_owned()),
                    kind: known.kind.to_owned(),
                };
                format!("did you mean `{meant}`?")
            }
            (None, Some(kind)) => format!("did you mean `{kind}`?"),
            (None, None) => "add the path of its pod template to `podTemplates`".to_owned(),
        };
        let kinds = Select::kinds();
        let what = format!("`{kinds}` has `{pattern}`, which has no known pod template");
        found.push(Conflict::of(&[&kinds.item(index)], what, help));
    }
    // To exclude an unknown kind is harmless, unless it is a misspelling of a known one.
    for (index, exclusion) in select.exclude.iter().enumerate() {
        let Some(kind) = exclusion
            .kind
            .as_deref()
            .filter(|kind| !table.knows(None, kind))
        else {
            continue;
        };
        if let Some(meant) = meant(kind) {
            let what = format!(
                "`{}` has the kind `{kind}`, which has no known pod template",
                Select::exclude()
            );
            let item = Select::exclude().item(index);
            found.push(Conflict::of(
                &[&item],
                what,
                format!("did you mean `{meant}`?"),
            ));
        }
    }
}
