//! Settings that are good by themselves but cannot stand together.

use crate::config::origin::Origin;
use crate::config::select::{KindPattern, NamespacePattern, is_system_namespace};
use crate::config::spec::{Platform, SidecarKind};
use crate::config::version::KubernetesVersion;
use crate::config::violation::Violation;
use crate::config::{Config, path};
use crate::diagnostic::closest::closest;
use crate::mackerel::annotations;
use crate::mackerel::env::{InEnv, VARIABLES};
use crate::mackerel::names::is_agent_image;
use crate::manifest::quantity::nanos;

/// Settings that contradict each other.
pub(crate) struct Contradiction {
    /// The dotted paths of the settings; the one that is most likely wrong first.
    pub(crate) paths: Vec<String>,
    pub(crate) violation: Violation,
}

impl Contradiction {
    /// What is wrong with one setting, seen together with its name.
    fn about(path: &str, violation: &Violation) -> Self {
        let what = format!("`{path}` {}", violation.what);
        Contradiction { paths: vec![path.to_owned()], violation: Violation { what, help: violation.help.clone() } }
    }

    fn of(paths: &[&str], what: impl Into<String>, help: impl Into<String>) -> Self {
        Contradiction {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            violation: Violation::new(what).with_help(help),
        }
    }
}

/// Names of resources that are not Kubernetes' own have a prefix: `example.com/gpu`.
fn names_nothing(name: &str) -> Option<Violation> {
    const KNOWN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
    if KNOWN.contains(&name) || name.contains('/') || name.starts_with("hugepages-") {
        return None;
    }
    let help = match closest(name, KNOWN) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "Kubernetes has `cpu`, `memory` and `ephemeral-storage`; others are written with a prefix".to_owned(),
    };
    Some(Violation::new("is no resource that Kubernetes knows").with_help(help))
}

/// `64m` is 64 thousandths of a byte; nobody means that.
fn no_whole_bytes(name: &str, amount: &str) -> Option<Violation> {
    let counts_bytes = matches!(name, "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    let is_whole = nanos(amount).is_none_or(|nanos| nanos % 1_000_000_000 == 0);
    if !counts_bytes || is_whole {
        return None;
    }
    let violation = Violation::new(format!("is not a whole number of bytes: `{amount}`"));
    Some(match amount.strip_suffix('m') {
        Some(number) => violation.with_help(format!("did you mean `{number}Mi`?")),
        None => violation,
    })
}

/// All contradictions of a configuration, in a fixed order.
pub(crate) fn contradictions(config: &Config) -> Vec<Contradiction> {
    let mut found = Vec::new();
    sidecar(config, &mut found);
    found.extend(contradictions_of_template(config));
    found
}

/// Those that annotations can bring about. A native sidecar that no cluster has is not among them: that is decided with
/// everything else about the template, and has a reason of its own.
pub(crate) fn contradictions_of_template(config: &Config) -> Vec<Contradiction> {
    let mut found = Vec::new();
    kubelet(config, &mut found);
    agent_config(config, &mut found);
    environment(config, &mut found);
    resources(config, &mut found);
    security_context(config, &mut found);
    namespaces(config, &mut found);
    kinds(config, &mut found);
    wait_for(config, &mut found);
    found
}

fn sidecar(config: &Config, found: &mut Vec<Contradiction>) {
    let version = config.spec.kubernetes_version;
    if config.spec.sidecar == SidecarKind::Native && version < KubernetesVersion::NATIVE_SIDECARS {
        found.push(Contradiction::of(
            &["sidecar", "kubernetesVersion"],
            format!("`sidecar: native` needs Kubernetes 1.29, and `kubernetesVersion` is {version}"),
            "raise `kubernetesVersion`, or set `sidecar: auto`",
        ));
    }
}

fn kubelet(config: &Config, found: &mut Vec<Contradiction>) {
    let kubelet = &config.spec.kubelet;
    // The port's default is no choice of the user's; the same port written down is one.
    let of_tls = [(config.is_explicit("kubelet.port"), "kubelet.port"), (kubelet.insecure_tls, "kubelet.insecureTLS")];
    if config.spec.platform == Platform::EksFargate {
        let read_only = (kubelet.read_only_port.is_some(), "kubelet.readOnlyPort");
        for (_, path) in [read_only].into_iter().chain(of_tls).filter(|(is_chosen, _)| *is_chosen) {
            found.push(Contradiction::of(
                &[path, "platform"],
                format!("`{path}` has no meaning with `platform: eks-fargate`, where no kubelet can be reached"),
                "take one of them away",
            ));
        }
        return;
    }
    if kubelet.read_only_port.is_none() {
        return;
    }
    // What a template's annotation sets, no argument takes back.
    let help = match config.origin("kubelet.readOnlyPort") {
        Origin::Annotation { .. } => "take one of them away",
        _ => "take one of them away; `--set kubelet.readOnlyPort=null` goes back to the TLS port",
    };
    for (is_chosen, path) in of_tls {
        if is_chosen {
            found.push(Contradiction::of(
                &["kubelet.readOnlyPort", path],
                format!("`kubelet.readOnlyPort` and `{path}` cannot stand together: the read-only port has no TLS"),
                help,
            ));
        }
    }
}

fn agent_config(config: &Config, found: &mut Vec<Contradiction>) {
    let agent_config = &config.spec.agent.config;
    let key = "agent.config.configMapKeyRef.key";
    // In the configuration, it may be there for the ConfigMaps that annotations name.
    if matches!(config.origin(key), Origin::Annotation { .. }) {
        let no_effect = |why: &str| format!("`{key}` has no effect: {why}");
        if agent_config.location.is_some() {
            found.push(Contradiction::of(
                &[key, "agent.config.location"],
                no_effect("the agent reads what `agent.config.location` names, not a key of a ConfigMap"),
                "take one of them away",
            ));
        } else if agent_config.config_map_key_ref.name.is_none() {
            found.push(Contradiction::of(
                &[key],
                no_effect("no ConfigMap is named"),
                "name it too, in `agent-config-configmap-name`, or take the key away",
            ));
        }
    }
    // The original injector's annotation names a file within the ConfigMap's folder, or anything else.
    if matches!(config.origin("agent.config.location"), Origin::Annotation { .. }) {
        return;
    }
    if agent_config.location.is_some() && agent_config.config_map_key_ref.name.is_some() {
        found.push(Contradiction::of(
            &["agent.config.location", "agent.config.configMapKeyRef.name"],
            "`agent.config.location` and `agent.config.configMapKeyRef.name` cannot stand together: the agent reads one configuration",
            "take one of them away",
        ));
    }
}

/// A variable of `agent.env` takes the place of ours, so that the setting which gives ours would have no effect.
fn environment(config: &Config, found: &mut Vec<Contradiction>) {
    for (index, given) in config.spec.agent.env.iter().enumerate() {
        let Some(variable) = VARIABLES.iter().find(|variable| variable.name == given.name) else { continue };
        let (item, setting) = (format!("`agent.env[{index}]`"), variable.setting);
        match variable.in_env {
            InEnv::Never => found.push(Contradiction::of(
                &["agent.env"],
                format!("{item} is {}, which `{setting}` gives, with everything that hangs on it", given.name),
                format!("set `{setting}` instead"),
            )),
            InEnv::Instead if config.is_explicit(setting) => found.push(Contradiction::of(
                &[setting, "agent.env"],
                format!("`{setting}` has no effect beside {item}, which is {}", given.name),
                "take one of them away",
            )),
            InEnv::Instead | InEnv::Freely => {}
        }
    }
}

fn resources(config: &Config, found: &mut Vec<Contradiction>) {
    let resources = &config.spec.agent.resources;
    for (list, amounts) in [("requests", &resources.requests), ("limits", &resources.limits)] {
        for (name, amount) in amounts.iter().flatten() {
            let path = format!("agent.resources.{list}.{}", path::escape(name));
            let wrong = names_nothing(name).or_else(|| no_whole_bytes(name, &amount.0));
            found.extend(wrong.map(|violation| Contradiction::about(&path, &violation)));
        }
    }
    if let Some(limit) = &config.spec.agent.tmp.size_limit {
        let wrong = no_whole_bytes("memory", &limit.0);
        found.extend(wrong.map(|violation| Contradiction::about("agent.tmp.sizeLimit", &violation)));
    }
    let (Some(requests), Some(limits)) = (&resources.requests, &resources.limits) else { return };
    for (name, request) in requests {
        let Some(limit) = limits.get(name) else { continue };
        // `128m` for `128Mi` is told already; that it is also less than the request would only distract.
        if [request, limit].iter().any(|amount| no_whole_bytes(name, &amount.0).is_some()) {
            continue;
        }
        if nanos(&request.0) > nanos(&limit.0) {
            let name = path::escape(name);
            let request_path = format!("agent.resources.requests.{name}");
            let limit_path = format!("agent.resources.limits.{name}");
            // A request by default is not what the user got wrong.
            let mut paths = vec![request_path.clone(), limit_path.clone()];
            if !config.is_explicit(&request_path) {
                paths.reverse();
            }
            let what = format!("`{request_path}` ({}) is above `{limit_path}` ({})", request.0, limit.0);
            let violation = Violation::new(what).with_help("raise the limit or lower the request");
            found.push(Contradiction { paths, violation });
        }
    }
}

fn security_context(config: &Config, found: &mut Vec<Contradiction>) {
    let context = &config.spec.agent.security_context;
    let (user, non_root) = ("agent.securityContext.runAsUser", "agent.securityContext.runAsNonRoot");
    if context.run_as_user == Some(0) && context.run_as_non_root == Some(true) {
        found.push(Contradiction::of(
            &[user, non_root],
            "`runAsUser: 0` is root, which `runAsNonRoot: true` forbids: the pod would not start",
            "set `runAsNonRoot: false` too, or take `runAsUser` away",
        ));
    }
    let (privileged, escalation) =
        ("agent.securityContext.privileged", "agent.securityContext.allowPrivilegeEscalation");
    if context.privileged == Some(true) && context.allow_privilege_escalation == Some(false) {
        found.push(Contradiction::of(
            &[privileged, escalation],
            "`privileged: true` allows privilege escalation, which `allowPrivilegeEscalation: false` forbids: Kubernetes refuses the pod",
            "set `allowPrivilegeEscalation: true` too, or take `privileged` away",
        ));
    }
}

fn namespaces(config: &Config, found: &mut Vec<Contradiction>) {
    let select = &config.spec.select;
    for namespace in &select.namespaces {
        let excludes = |pattern: &&NamespacePattern| {
            *pattern == namespace || (namespace.is_name() && pattern.matches(&namespace.0))
        };
        if let Some(pattern) = select.exclude_namespaces.iter().find(excludes) {
            let by = if pattern == namespace { String::new() } else { format!(", as `{pattern}`") };
            found.push(Contradiction::of(
                &["select.namespaces", "select.excludeNamespaces"],
                format!("`{namespace}` is both in `select.namespaces` and in `select.excludeNamespaces`{by}"),
                "take it out of one of them",
            ));
        }
        if is_system_namespace(&namespace.0) && !select.system_namespaces {
            found.push(Contradiction::of(
                &["select.namespaces", "select.systemNamespaces"],
                format!("`{namespace}` is in `select.namespaces`, and is a system namespace, which is left alone"),
                "take it away, or set `select.systemNamespaces: true`",
            ));
        }
    }
}

fn wait_for(config: &Config, found: &mut Vec<Contradiction>) {
    let (image, names) = (&config.spec.wait_for.image, &config.spec.wait_for.annotations);
    if let Some(image) = image.as_deref().filter(|image| is_agent_image(image)) {
        let violation = Violation::new(format!("must hold this program, and `{image}` is the agent's"));
        found.push(Contradiction::about("waitFor.image", &violation.with_help("name an image of this program")));
    }
    for (index, name) in names.iter().enumerate() {
        let (what, help) = if name.starts_with(annotations::PREFIX) {
            ("is one of this program's own, and never another name for `wait-for`", "take it away")
        } else if names.iter().take(index).any(|other| other == name) {
            ("stands there twice", "take one of them away")
        } else {
            continue;
        };
        let what = format!("has `{name}`, which {what}");
        found.push(Contradiction::about("waitFor.annotations", &Violation::new(what).with_help(help)));
    }
}

/// Kinds that hold no pod template, as far as anybody has told: to select them selects nothing.
fn kinds(config: &Config, found: &mut Vec<Contradiction>) {
    let select = &config.spec.select;
    if select.kinds.is_empty() && select.exclude.is_empty() {
        return;
    }
    let table = config.workloads();
    let meant = |kind: &str| closest(kind, table.kinds().map(|(_, known)| known));
    for pattern in select.kinds.iter().filter(|pattern| !table.knows(pattern.group.as_deref(), &pattern.kind)) {
        let same_kind = table.kinds().find(|(_, kind)| *kind == pattern.kind);
        let help = match (same_kind, meant(&pattern.kind)) {
            (Some((group, kind)), _) => {
                let of = KindPattern { group: Some(group.to_owned()), kind: kind.to_owned() };
                format!("did you mean `{of}`?")
            }
            (None, Some(kind)) => format!("did you mean `{kind}`?"),
            (None, None) => "say in `podTemplates` where its pod template stands".to_owned(),
        };
        let what = format!("`select.kinds` has `{pattern}`, which is not known to hold a pod template");
        found.push(Contradiction::of(&["select.kinds"], what, help));
    }
    // To leave out what is never looked at does no harm, but a misspelt kind is not left out.
    for kind in select.exclude.iter().filter_map(|rule| rule.kind.as_deref()).filter(|kind| !table.knows(None, kind)) {
        if let Some(meant) = meant(kind) {
            let what = format!("`select.exclude` has the kind `{kind}`, which is not known to hold a pod template");
            found.push(Contradiction::of(&["select.exclude"], what, format!("did you mean `{meant}`?")));
        }
    }
}
