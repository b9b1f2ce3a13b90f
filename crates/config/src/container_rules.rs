//! The rules of Kubernetes' validation that `agent` can break, beyond the types of the fields. Behind the webhook, a container that
//! breaks one keeps every pod from being created.

use crate::agent::{AgentSettings, AgentVolume};
use crate::checked::MetadataName;
use crate::kubernetes::{PATHS, PORT, Rule, pointer, quantity, range, rules, whole_number};
use crate::table::Setting;
use crate::values::{MERGED, join};
use crate::version::KubernetesVersion;
use crate::violation::{Conflict, Violation, listed};
use crate::{Config, secret};
use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements, SecurityContext, VolumeMount};
use mackerel::names::{KUBERNETES_VARIABLES, Volume};
use manifest::dotted_path::escape;
use manifest::expansion::references;
use manifest::nanos;
use report::closest;
use serde_json::{Map, Value as Json, json};
use std::cell::LazyCell;
use std::collections::HashSet;

/// Returns the rules that the settings break: those about single values, then the others.
pub(super) fn broken(config: &Config) -> Vec<Conflict> {
    let agent = &config.spec.agent;
    let mut rules = Rules {
        found: Vec::new(),
        version: config.spec.kubernetes_version,
    };
    // To make the values takes longer than the rest of a start.
    let values = LazyCell::new(|| config.values());
    // An empty mapping has no origin.
    let has_probe = agent.lifecycle.is_some()
        || [
            &agent.liveness_probe,
            &agent.readiness_probe,
            &agent.startup_probe,
        ]
        .iter()
        .any(|probe| probe.is_some());
    for path in PATHS {
        // The defaults keep the rules, and an empty mapping that is merged with them sets nothing.
        let is_given = config.is_explicit(path) || has_probe && !MERGED.contains(&path);
        if is_given
            && let Some(value) = values.pointer(&pointer(path))
            && !value.is_null()
            && *value != json!([])
        {
            rules.check(path, value);
        }
    }
    for (index, variable) in agent.env.iter().enumerate() {
        rules.variable(&format!("agent.env[{index}]"), variable);
    }
    for (index, mount) in agent.volume_mounts.iter().enumerate() {
        let path = format!("agent.volumeMounts[{index}]");
        rules.mount(&path, mount);
        let variables = references(mount.sub_path_expr.as_deref().unwrap_or_default());
        if let Some(name) = variables.iter().find(|name| !may_have(agent, name)) {
            let unknown = Violation::new(format!("refers to the unknown variable `{name}`"))
                .with_help("add it to `agent.env`, or use `$(MACKEREL_KUBERNETES_POD_NAME)`");
            rules.breaks(&format!("{path}.subPathExpr"), unknown);
        }
    }
    let known = Volume::KNOWN;
    let mut names: HashSet<&str> = known.iter().map(Volume::id).collect();
    for (index, AgentVolume { name, .. }) in agent.volumes.iter().enumerate() {
        if !names.insert(name) {
            let taken = Violation::new(format!("has the name of another volume: `{name}`"))
                .with_help("use another `name`");
            rules.breaks(&format!("agent.volumes[{index}]"), taken);
        }
    }
    rules.security_context(&agent.security_context);
    rules.found
}

/// Returns true for a variable that the agent may have, by its settings or by a Service of the namespace. Without it, a `subPathExpr`
/// keeps the pod from starting.
fn may_have(agent: &AgentSettings, variable: &str) -> bool {
    !agent.env_from.is_empty()
        || agent.env.iter().any(|given| given.name == variable)
        || variable.starts_with(KUBERNETES_VARIABLES)
        || Setting::of_variable(variable).is_some()
        || ["_SERVICE_HOST", "_PORT"]
            .iter()
            .any(|part| variable.contains(part))
}

struct Rules {
    found: Vec<Conflict>,
    version: KubernetesVersion,
}

impl Rules {
    fn breaks(&mut self, path: &str, violation: Violation) {
        let violation = secret::hidden(path, path, violation);
        self.found
            .push(Conflict::about(vec![path.to_owned()], violation));
    }

    /// Checks a value and what is in it.
    fn check(&mut self, path: &str, value: &Json) {
        let rules: Vec<&Rule> = rules(path).collect();
        for rule in &rules {
            if let Some(violation) = self.broken_by(value, rule) {
                self.breaks(path, violation);
            }
        }
        match value {
            _ if rules.iter().any(|rule| matches!(rule, Rule::Refused)) => {}
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.check(&format!("{path}[{index}]"), item);
                }
            }
            Json::Object(members) => self.check_members(path, members, &rules),
            Json::Number(number) => {
                let (least, most) = range(path);
                let is_within = |number| (least..=most).contains(&number);
                if !number.as_i64().is_some_and(is_within) {
                    let violation = Violation::found(&whole_number(path), &number.to_string());
                    self.breaks(path, violation);
                }
            }
            Json::Null | Json::Bool(_) | Json::String(_) => {}
        }
    }

    /// Returns what a rule says of a value, but for its members and for a number.
    fn broken_by(&self, value: &Json, rule: &Rule) -> Option<Violation> {
        let version = self.version;
        Some(match (rule, value) {
            (Rule::Since(since), _) if version.minor < *since => Violation::new(format!(
                "requires Kubernetes 1.{since} or later, but `kubernetesVersion` is {version}"
            ))
            .with_help("raise `kubernetesVersion`"),
            (Rule::Refused, _) => Violation::new("is not for the agent"),
            (Rule::Word(words), Json::String(text)) if !words.contains(&text.as_str()) => {
                Violation::found(&format!("one of {}", listed(words)), text)
            }
            (Rule::Text(form), Json::String(text)) if !(form.is_of_form)(text) => {
                Violation::new("has an invalid value").with_help(form.help)
            }
            // The type of Kubernetes reads a port as a name, too.
            (Rule::Port, Json::String(_)) => Violation::new("has an invalid value").with_help(PORT),
            _ => return None,
        })
    }

    fn check_members(&mut self, path: &str, members: &Map<String, Json>, rules: &[&Rule]) {
        let empty = [json!(null), json!(""), json!([]), json!(0)];
        let is_missing = |name: &&str| members.get(*name).is_none_or(|value| empty.contains(value));
        let mut missing = Vec::new();
        for rule in rules {
            if let Rule::Needs(names) = rule {
                missing.extend(names.iter().copied().filter(is_missing));
            }
        }
        for name in &missing {
            self.breaks(path, Violation::new(format!("needs a `{name}`")));
        }
        if rules.iter().any(|rule| matches!(rule, Rule::PassedThrough)) {
            return;
        }
        for (name, value) in members {
            if !missing.contains(&&**name) {
                self.check(&join(path, name), value);
            }
        }
        for rule in rules {
            let Rule::OneOf(names) = rule else { continue };
            let given = names.iter().filter(|name| members.contains_key(**name));
            if given.count() != 1 {
                let what = format!("needs one of {}", listed(names));
                self.breaks(path, Violation::new(what));
            }
        }
    }

    fn variable(&mut self, path: &str, variable: &EnvVar) {
        let Some(from) = &variable.value_from else {
            return;
        };
        if variable.value.is_some() {
            let both =
                Violation::new("has both `value` and `valueFrom`").with_help("remove one of them");
            self.breaks(path, both);
        }
        if let Some(amount) = &from.resource_field_ref {
            let divisor = amount.divisor.as_ref().map_or("1", |divisor| &divisor.0);
            let is_of_cpu = amount.resource.ends_with("cpu");
            if !matches!(divisor, "0" | "1") && is_of_cpu != (divisor == "1m") {
                let foreign = Violation::new("has the `divisor` of another resource")
                    .with_help("for example `1m` for a CPU, `1Mi` for memory");
                self.breaks(path, foreign);
            }
        }
    }

    fn mount(&mut self, path: &str, mount: &VolumeMount) {
        if Volume::of(&mount.name).is_some_and(|volume| Volume::KNOWN.contains(&volume)) {
            let ours = Violation::new("names a volume that is injected")
                .with_help("use the name of a volume of the pod");
            self.breaks(path, ours);
        }
        if mount.sub_path.is_some() && mount.sub_path_expr.is_some() {
            let both = Violation::new("has both `subPath` and `subPathExpr`")
                .with_help("remove one of them");
            self.breaks(path, both);
        }
        let is =
            |value: &Option<String>, default| value.as_ref().is_none_or(|value| value == default);
        let is_alone = mount.read_only == Some(true) && is(&mount.mount_propagation, "None");
        if !is(&mount.recursive_read_only, "Disabled") && !is_alone {
            let recursive = Violation::new(
                "has `recursiveReadOnly` without `readOnly`, or with `mountPropagation`",
            )
            .with_help("set `readOnly: true` alone beside it");
            self.breaks(path, recursive);
        }
    }

    fn security_context(&mut self, context: &SecurityContext) {
        let is_root = context.run_as_user == Some(0) && context.run_as_non_root == Some(true);
        let escalates = context.allow_privilege_escalation != Some(false);
        let mut added = context
            .capabilities
            .iter()
            .filter_map(|it| it.add.as_ref())
            .flatten();
        let (seccomp, armor) = (&context.seccomp_profile, &context.app_armor_profile);
        // A missing type is reported already.
        let is_half = |kind: &str, profile: &Option<String>| {
            !kind.is_empty() && (kind == "Localhost") != profile.is_some()
        };
        let both = "set both, or neither";
        for (is_broken, fields, what, help) in [
            (
                is_root,
                &["runAsUser", "runAsNonRoot"][..],
                "`runAsUser: 0` is root, which `runAsNonRoot: true` forbids; the pod would not start",
                "set `runAsNonRoot: false` as well, or remove `runAsUser`",
            ),
            (
                !escalates && context.privileged == Some(true),
                &["privileged", "allowPrivilegeEscalation"],
                "`privileged: true` needs `allowPrivilegeEscalation: true`",
                both,
            ),
            (
                !escalates && added.any(|name| name == "CAP_SYS_ADMIN"),
                &["capabilities.add", "allowPrivilegeEscalation"],
                "`CAP_SYS_ADMIN` needs `allowPrivilegeEscalation: true`",
                both,
            ),
            (
                seccomp
                    .as_ref()
                    .is_some_and(|it| is_half(&it.type_, &it.localhost_profile)),
                &["seccompProfile"],
                "`seccompProfile` needs `type: Localhost` together with `localhostProfile`",
                both,
            ),
            (
                armor
                    .as_ref()
                    .is_some_and(|it| is_half(&it.type_, &it.localhost_profile)),
                &["appArmorProfile"],
                "`appArmorProfile` needs `type: Localhost` together with `localhostProfile`",
                both,
            ),
        ] {
            if is_broken {
                let paths: Vec<String> = fields
                    .iter()
                    .map(|field| format!("agent.securityContext.{field}"))
                    .collect();
                let violation = Violation::new(what).with_help(help);
                self.found.push(Conflict { paths, violation });
            }
        }
    }
}

const PAGES: &str = "hugepages-";

/// The resources of which a container may request less than its limit.
const SHARED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Returns the amounts that break a rule.
pub(super) fn amounts(setting: &str, resources: &ResourceRequirements) -> Vec<Conflict> {
    let path = |list: &str, name: &str| format!("{setting}.{list}.{}", escape(name));
    let mut found = Vec::new();
    for (list, amounts) in [
        ("requests", &resources.requests),
        ("limits", &resources.limits),
    ] {
        for (name, amount) in amounts.iter().flatten() {
            let wrong = quantity(&amount.0)
                .err()
                .or_else(|| unknown_resource(name))
                .or_else(|| fraction(name, &amount.0));
            let conflict = |violation| Conflict::about(vec![path(list, name)], violation);
            found.extend(wrong.map(conflict));
        }
    }
    // A mistyped unit such as `128m` for `128Mi` is above or below anything.
    if !found.is_empty() {
        return found;
    }
    for (name, request) in resources.requests.iter().flatten() {
        let limit = resources.limits.iter().find_map(|limits| limits.get(name));
        let violation = match limit {
            Some(limit) if nanos(&request.0) > nanos(&limit.0) => {
                let what = format!("is {}, more than the limit of {}", request.0, limit.0);
                Violation::new(what).with_help("raise the limit or lower the request")
            }
            Some(limit) if nanos(&request.0) == nanos(&limit.0) => continue,
            _ if SHARED.contains(&&**name) => continue,
            _ => Violation::new("needs an equal limit").with_help("set the limit alone"),
        };
        let mut paths = vec![path("requests", name)];
        paths.extend(limit.map(|_| path("limits", name)));
        found.push(Conflict::about(paths, violation));
    }
    found
}

/// Returns the path of an amount: `agent.resources.limits.nvidia\.com/gpu`
pub fn amount_path(list: &str, resource: &str) -> String {
    format!("agent.resources.{list}.{}", escape(resource))
}

/// Rejects a resource that Kubernetes does not have: `memroy`, but not `example.com/gpu`.
fn unknown_resource(name: &str) -> Option<Violation> {
    let is_known = match name.strip_prefix(PAGES) {
        Some(size) => nanos(size) > Some(0),
        None if name.contains('/') => {
            name.parse::<MetadataName>().is_ok() && !name.starts_with("requests.")
        }
        None => SHARED.contains(&name),
    };
    if is_known {
        return None;
    }
    let help = match closest(name, SHARED) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "use `cpu`, `memory`, `ephemeral-storage` or a name with a prefix".to_owned(),
    };
    Some(Violation::new("is not a resource name of Kubernetes").with_help(help))
}

/// Rejects fractions of a byte, page or device: `64m` is 64 thousandths.
pub(super) fn fraction(name: &str, amount: &str) -> Option<Violation> {
    let unit = nanos(name.strip_prefix(PAGES).unwrap_or("1"))?;
    if name == "cpu" || nanos(amount)?.checked_rem(unit) == Some(0) {
        return None;
    }
    let (unit, mistyped) = if SHARED.contains(&name) {
        ("bytes", amount.strip_suffix('m'))
    } else {
        ("units", None)
    };
    Some(Violation {
        what: format!("is not a whole number of {unit}: `{amount}`"),
        help: mistyped.map(|number| format!("did you mean `{number}Mi`?")),
    })
}
