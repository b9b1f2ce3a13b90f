//! Checks across settings: values that are valid alone but not together.

use crate::agent::{AgentSettings, HostIdStore, real_path};
use crate::checked::MetadataName;
use crate::role;
use crate::select::{
    Exclusion, LabelOperator, LabelSelector, NamespacePattern, is_system_namespace,
};
use crate::spec::{Platform, SidecarKind, Spec};
use crate::table::Setting;
use crate::version::KubernetesVersion;
use crate::violation::{Conflict, Violation};
use crate::{Config, container_rules, kubernetes, values};
use k8s_openapi::api::core::v1::{EnvVar, VolumeMount};
use mackerel::annotations;
use mackerel::env::{EnvOverride, NAMESPACE, POD_LABEL, REFERABLE, TMPDIR, Variable, VariableForm};
use mackerel::names::is_agent_image;
use manifest::expansion::references;
use report::closest;
use std::collections::HashMap;

/// Returns all conflicts of a configuration, in a fixed order.
pub fn conflicts(config: &Config) -> Vec<Conflict> {
    let mut found = Vec::new();
    sidecar(config, &mut found);
    selectors(config, &mut found);
    duplicate_variables(&config.spec.agent.env, &mut found);
    mount_paths(&config.spec.agent, &mut found);
    found.extend(container_rules::broken(config));
    found.extend(template_conflicts(config));
    found
}

/// Returns the conflicts that annotations can cause. `sidecar: native` on an older cluster is not among them: `decide`
/// refuses such a template (`native-refused`).
pub fn template_conflicts(config: &Config) -> Vec<Conflict> {
    let mut found = Vec::new();
    kubelet(config, &mut found);
    agent_config(config, &mut found);
    environment(config, &mut found);
    referred_variables(config, &mut found);
    scratch_space(config, &mut found);
    resources(config, &mut found);
    namespaces(config, &mut found);
    kinds(config, &mut found);
    wait_for(config, &mut found);
    found
}

/// Returns the settings that cannot be followed by a reader that sees pods alone.
pub fn pod_conflicts(config: &Config, reader: &str) -> Vec<Conflict> {
    let select = &config.spec.select;
    let mut found = Vec::new();
    if !select.kinds.is_empty() {
        let why = "a pod does not show the kind of its workload";
        let help = help("select.kinds", "remove it");
        found.push(unsupported(reader, "select.kinds", why, help));
    }
    for (index, exclusion) in select.exclude.iter().enumerate() {
        if exclusion.names_workload() {
            let place = format!("select.exclude[{index}]");
            let why = "a pod does not show its workload";
            let instead = "exclude by `namespace` or `podSelector`, or pods without a controller by `kind: Pod`";
            let help = help("select.exclude", instead);
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

fn help(setting: &str, instead: &str) -> String {
    format!("{instead}; for a file that manifests share, add `--set {setting}=null`")
}

fn sidecar(config: &Config, found: &mut Vec<Conflict>) {
    let version = config.spec.kubernetes_version;
    if config.spec.sidecar == SidecarKind::Native && version < KubernetesVersion::NATIVE_SIDECARS {
        found.push(Conflict::of(
            &["sidecar", "kubernetesVersion"],
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
        let first = format!("agent.env[{first}]");
        let item = format!("agent.env[{index}]");
        let what = format!("`{item}` has the same `name` as `{first}`: `{name}`");
        let help = "use another `name`, or remove one of them";
        found.push(Conflict::of(&[&item, &first], what, help));
    }
}

/// Finds mounts at a path where the agent or an earlier item has a mount: pods with both would not start.
fn mount_paths(agent: &AgentSettings, found: &mut Vec<Conflict>) {
    let mut known: HashMap<String, String> = HashMap::new();
    for (index, VolumeMount { mount_path, .. }) in agent.volume_mounts.iter().enumerate() {
        if mount_path.is_empty() {
            continue;
        }
        let item = format!("agent.volumeMounts[{index}]");
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
    let read_only = "kubelet.readOnlyPort";
    // An explicit port counts even if it is the default.
    let port = config.is_explicit("kubelet.port").then_some("kubelet.port");
    let insecure_tls = kubelet.insecure_tls.then_some("kubelet.insecureTLS");
    let of_tls = port.into_iter().chain(insecure_tls);
    if config.spec.platform == Platform::EksFargate {
        let chosen = kubelet.read_only_port.map(|_| read_only);
        for setting in chosen.into_iter().chain(of_tls) {
            let what = format!(
                "`{setting}` cannot be combined with `platform: eks-fargate`: pods on EKS Fargate cannot reach a kubelet"
            );
            found.push(Conflict::of(
                &[setting, "platform"],
                what,
                "remove one of them",
            ));
        }
        return;
    }
    if kubelet.read_only_port.is_none() {
        return;
    }
    // `--set` cannot reset what an annotation sets.
    let help = if config.is_annotated(read_only) {
        "remove one of them"
    } else {
        "remove one of them; `--set kubelet.readOnlyPort=null` restores the TLS port"
    };
    for setting in of_tls {
        let what = format!(
            "`{read_only}` and `{setting}` cannot be combined: the read-only port has no TLS"
        );
        found.push(Conflict::of(&[read_only, setting], what, help));
    }
}

fn agent_config(config: &Config, found: &mut Vec<Conflict>) {
    let agent_config = &config.spec.agent.config;
    let location = "agent.config.location";
    let name = "agent.config.configMapKeyRef.name";
    let key = "agent.config.configMapKeyRef.key";
    // A key in the configuration may serve ConfigMaps that annotations name.
    if config.is_annotated(key) {
        let no_effect = |why: &str| format!("`{key}` has no effect: {why}");
        if agent_config.location.is_some() {
            let why = format!("the agent reads `{location}`, not a key of a ConfigMap");
            found.push(Conflict::of(
                &[key, location],
                no_effect(&why),
                "remove one of them",
            ));
        } else if agent_config.config_map_key_ref.name.is_none() {
            let help =
                "set the annotation `agent-config-configmap-name` as well, or remove the key";
            found.push(Conflict::of(
                &[key],
                no_effect("the name of the ConfigMap is not set"),
                help,
            ));
        }
    }
    // The annotation may name a file within the ConfigMap's folder, as with the original injector.
    if config.is_annotated(location) {
        return;
    }
    if agent_config.location.is_some() && agent_config.config_map_key_ref.name.is_some() {
        let what = format!(
            "`{location}` and `{name}` cannot be combined: the agent reads one configuration"
        );
        found.push(Conflict::of(&[location, name], what, "remove one of them"));
    }
}

/// Finds variables of `agent.env` that replace an explicit setting.
fn environment(config: &Config, found: &mut Vec<Conflict>) {
    for (index, given) in config.spec.agent.env.iter().enumerate() {
        let Some((row, variable)) = Setting::of_variable(&given.name) else {
            continue;
        };
        let item = format!("agent.env[{index}]");
        let setting = row.path;
        match variable.env_override {
            EnvOverride::Forbidden => found.push(Conflict::of(
                &[&item],
                format!("`{item}` sets {}, which `{setting}` controls", given.name),
                format!("set `{setting}` instead"),
            )),
            EnvOverride::IfUnset if config.is_explicit(setting) => found.push(Conflict::of(
                &[setting, &item],
                format!(
                    "`{setting}` has no effect because `{item}` sets {}",
                    given.name
                ),
                "remove one of them",
            )),
            EnvOverride::IfUnset if given.value_from.is_some() => {}
            EnvOverride::IfUnset => {
                let value = given.value.as_deref().unwrap_or_default();
                if let Some(Violation { what, help }) = wrong_value(value, variable, row) {
                    let what = format!("`{item}` is {}: it {what}", given.name);
                    found.push(Conflict {
                        paths: vec![item],
                        violation: Violation { what, help },
                    });
                }
            }
        }
    }
}

/// Finds variables of `agent.env` to which settings refer. They stand behind the settings, so the kubelet would not put their values
/// in: the role would be `$(MACKEREL_KUBERNETES_NAMESPACE):web`.
fn referred_variables(config: &Config, found: &mut Vec<Conflict>) {
    for (index, EnvVar { name, .. }) in config.spec.agent.env.iter().enumerate() {
        let is_label = name.starts_with(POD_LABEL);
        if !is_label && !REFERABLE.contains(&&**name) {
            continue;
        }
        let refers = |reference: &String| {
            reference == name
                || is_label && reference.starts_with(role::LABEL)
                || name == NAMESPACE && reference == role::NAMESPACE
        };
        // The agent's pattern is written with each `$` escaped, and Kubernetes reads `$$(NAME)` as text.
        for (setting, variable) in Setting::with_variables() {
            if variable.form == VariableForm::IgnorePattern {
                continue;
            }
            let text = setting.get(&config.spec).unwrap_or_default();
            if references(&text).iter().any(refers) {
                let item = format!("agent.env[{index}]");
                let path = setting.path;
                let what = format!("`{path}` refers to {name}, which `{item}` sets behind it");
                let help = "remove one of them";
                found.push(Conflict::of(&[path, &item], what, help));
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
    let mut add = |path: &str| {
        let what = format!("`{path}` needs a folder to write to, but `agent.tmp` is `null`");
        found.push(Conflict::of(
            &[path, "agent.tmp"],
            what,
            "remove one of them",
        ));
    };
    if agent.host_id_store == HostIdStore::File {
        add("agent.hostIdStore");
    }
    for (index, EnvVar { name, value, .. }) in agent.env.iter().enumerate() {
        let is_file = value.as_deref() == Some("file");
        if (name == TMPDIR && agent.volume_mounts.is_empty())
            || (name == "MACKEREL_HOST_ID_STORE" && is_file)
        {
            add(&format!("agent.env[{index}]"));
        }
    }
}

/// Rejects a variable's value that its setting would not take: the agent exits on most of them. An empty value unsets a variable,
/// and one with a reference to another variable is not known here.
fn wrong_value(value: &str, variable: Variable, setting: &Setting) -> Option<Violation> {
    if variable.form == VariableForm::SecretKey {
        let help = "remove it; the agent reads the key from the Secret of `apiKey`";
        return Some(Violation::new("must come by `valueFrom`, not as plain text").with_help(help));
    }
    if value.is_empty() || value.contains("$(") {
        return None;
    }
    setting.set(&mut Spec::default(), value).err()
}

fn resources(config: &Config, found: &mut Vec<Conflict>) {
    let Spec {
        agent, wait_for, ..
    } = &config.spec;
    for (setting, resources) in [
        ("agent.resources", &agent.resources),
        ("waitFor.resources", &wait_for.resources),
    ] {
        found.extend(container_rules::amounts(setting, resources));
    }
    if let Some(limit) = agent.tmp.as_ref().and_then(|tmp| tmp.size_limit.as_ref()) {
        let wrong = kubernetes::quantity(&limit.0)
            .err()
            .or_else(|| container_rules::fraction("memory", &limit.0));
        let paths = vec!["agent.tmp.sizeLimit".to_owned()];
        found.extend(wrong.map(|violation| Conflict::about(paths, violation)));
    }
}

/// Checks the parts of label selectors and exclusions together.
fn selectors(config: &Config, found: &mut Vec<Conflict>) {
    let select = &config.spec.select;
    label_selector("select.podSelector", &select.pod_selector, found);
    for (index, exclusion) in select.exclude.iter().enumerate() {
        let path = format!("select.exclude[{index}]");
        label_selector(
            &format!("{path}.podSelector"),
            &exclusion.pod_selector,
            found,
        );
        if *exclusion == Exclusion::default() {
            let violation = Violation::new("is empty and would exclude every resource")
                .with_help("set `kind`, `name`, `namespace`, `group` or `podSelector`");
            found.push(Conflict::about(vec![path], violation));
        }
    }
}

fn label_selector(path: &str, selector: &LabelSelector, found: &mut Vec<Conflict>) {
    for key in selector.match_labels.keys() {
        if let Err(Violation { what, help }) = key.parse::<MetadataName>() {
            let path = values::join(&format!("{path}.matchLabels"), key);
            let what = format!("has an invalid label key: it {what}");
            found.push(Conflict::about(vec![path], Violation { what, help }));
        }
    }
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let operator = requirement.operator;
        let takes_values = matches!(operator, LabelOperator::In | LabelOperator::NotIn);
        let what = match (takes_values, requirement.values.is_empty()) {
            (true, true) => format!("needs `values` for the operator `{operator:?}`"),
            (false, false) => {
                format!("has `values`, which the operator `{operator:?}` does not allow")
            }
            (true, false) | (false, true) => continue,
        };
        let path = format!("{path}.matchExpressions[{index}]");
        found.push(Conflict::about(vec![path], Violation::new(what)));
    }
}

fn namespaces(config: &Config, found: &mut Vec<Conflict>) {
    let select = &config.spec.select;
    for (index, namespace) in select.namespaces.iter().enumerate() {
        let item = format!("select.namespaces[{index}]");
        let excludes = |pattern: &NamespacePattern| {
            pattern == namespace || (namespace.is_name() && pattern.matches(&namespace.0))
        };
        let excluding = select
            .exclude_namespaces
            .iter()
            .enumerate()
            .find(|(_, pattern)| excludes(pattern));
        if let Some((excluded, pattern)) = excluding {
            let by = if pattern == namespace {
                String::new()
            } else {
                format!(", as `{pattern}`")
            };
            found.push(Conflict::of(
                &[&item, &format!("select.excludeNamespaces[{excluded}]")],
                format!("`{namespace}` is both in `select.namespaces` and in `select.excludeNamespaces`{by}"),
                "remove it from one of them",
            ));
        }
        if is_system_namespace(&namespace.0) && !select.system_namespaces {
            found.push(Conflict::of(
                &[&item, "select.systemNamespaces"],
                format!(
                    "`select.namespaces` contains `{namespace}`, but system namespaces are excluded"
                ),
                "remove it, or set `select.systemNamespaces: true`",
            ));
        }
    }
}

fn wait_for(config: &Config, found: &mut Vec<Conflict>) {
    let image = config.spec.wait_for.image.as_deref();
    if let Some(image) = image.filter(|image| is_agent_image(image)) {
        let violation = Violation::new(format!(
            "must be an image of mackerel-agent-injector, but `{image}` is the agent"
        ))
        .with_help("use an image of mackerel-agent-injector");
        found.push(Conflict::about(vec!["waitFor.image".to_owned()], violation));
    }
    let names = &config.spec.wait_for.annotations;
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
        let what = format!("`waitFor.annotations` has `{name}`, which {what}");
        found.push(Conflict::of(
            &[&format!("waitFor.annotations[{index}]")],
            what,
            help,
        ));
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
            (Some(known), _) => format!("did you mean `{}/{}`?", known.group, known.kind),
            (None, Some(kind)) => format!("did you mean `{kind}`?"),
            (None, None) => "add the path of its pod template to `podTemplates`".to_owned(),
        };
        let what = format!("`select.kinds` has `{pattern}`, which has no known pod template");
        found.push(Conflict::of(
            &[&format!("select.kinds[{index}]")],
            what,
            help,
        ));
    }
    // To exclude an unknown kind is harmless, unless it is a misspelling of a known one.
    for (index, exclusion) in select.exclude.iter().enumerate() {
        if let Some(kind) = exclusion.kind.as_deref()
            && !table.knows(None, kind)
            && let Some(meant) = meant(kind)
        {
            let what =
                format!("`select.exclude` has the kind `{kind}`, which has no known pod template");
            let item = format!("select.exclude[{index}]");
            found.push(Conflict::of(
                &[&item],
                what,
                format!("did you mean `{meant}`?"),
            ));
        }
    }
}
