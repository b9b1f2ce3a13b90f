//! The rules of Kubernetes' validation that `agent` and `waitFor` can break, beyond the types of the fields. Behind the webhook,
//! a container that breaks one keeps every pod from being created.

use crate::config::constraint::Constraint;
use crate::config::setting::SettingRow;
use crate::config::violation::{Conflict, Violation};
use crate::diagnostic::closest::closest;
use crate::mackerel::names::Volume;
use crate::manifest::quantity::nanos;
use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements, SecurityContext, VolumeMount};
use serde_json::{Value as Json, json};

/// A rule about a value.
pub(super) struct Rule<T> {
    /// Dotted paths of the fields, the one that is most likely wrong first. Empty for an item of a list.
    pub(super) fields: &'static [&'static str],
    what: &'static str,
    help: &'static str,
    is_broken: fn(&T) -> bool,
}

impl<T> Rule<T> {
    const fn new(
        fields: &'static [&'static str],
        what: &'static str,
        help: &'static str,
        is_broken: fn(&T) -> bool,
    ) -> Self {
        Rule {
            fields,
            what,
            help,
            is_broken,
        }
    }

    pub(super) fn violation(&self) -> Violation {
        Violation::new(self.what).with_help(self.help)
    }
}

/// A type of Kubernetes with the rules about its values.
pub(super) trait Validated: Sized + 'static {
    /// The rules that a JSON Schema does not describe.
    const RULES: &'static [Rule<Self>] = &[];

    /// Returns the others, as a merge patch of the type's JSON Schema.
    fn narrowing() -> Json;
}

/// Returns the rules that a value breaks.
pub(super) fn broken<T: Validated>(value: &T) -> impl Iterator<Item = &'static Rule<T>> {
    T::RULES.iter().filter(|rule| (rule.is_broken)(value))
}

const BOTH: &str = "set both, or neither";

/// A name in a path: neither empty nor `..`, and without these characters.
macro_rules! path_name {
    ($without:literal) => {
        concat!(
            r"(\.{0,2}[^./",
            $without,
            "][^/",
            $without,
            r"]*|\.{3}[^/",
            $without,
            r"]*|\.)"
        )
    };
}

/// Returns the schema of text in this form. The help is for errors and editors.
fn text(pattern: &str, help: &str) -> Json {
    json!({"description": help, "pattern": format!("^({pattern})$")})
}

/// Returns the schema of a path that stays below a folder.
fn inner_path() -> Json {
    let pattern = concat!("(", path_name!(""), "(/+", path_name!(""), ")*/*)?");
    text(pattern, "use a relative path without `..`")
}

impl Validated for SecurityContext {
    const RULES: &'static [Rule<Self>] = &[
        Rule::new(
            &["runAsUser", "runAsNonRoot"],
            "`runAsUser: 0` is root, which `runAsNonRoot: true` forbids; the pod would not start",
            "set `runAsNonRoot: false` as well, or remove `runAsUser`",
            |context| context.run_as_user == Some(0) && context.run_as_non_root == Some(true),
        ),
        Rule::new(
            &["privileged", "allowPrivilegeEscalation"],
            "`privileged: true` needs `allowPrivilegeEscalation: true`",
            BOTH,
            |context| {
                context.privileged == Some(true)
                    && context.allow_privilege_escalation == Some(false)
            },
        ),
        Rule::new(
            &["capabilities.add", "allowPrivilegeEscalation"],
            "`CAP_SYS_ADMIN` needs `allowPrivilegeEscalation: true`",
            BOTH,
            |context| {
                let mut lists = context.capabilities.iter().filter_map(|it| it.add.as_ref());
                context.allow_privilege_escalation == Some(false)
                    && lists.any(|list| list.iter().any(|name| name == "CAP_SYS_ADMIN"))
            },
        ),
        Rule::new(
            &["seccompProfile"],
            "`seccompProfile` needs `type: Localhost` together with `localhostProfile`",
            BOTH,
            |context| {
                let mut profile = context.seccomp_profile.iter();
                profile.any(|it| (it.type_ == "Localhost") != it.localhost_profile.is_some())
            },
        ),
        Rule::new(
            &["appArmorProfile"],
            "`appArmorProfile` needs `type: Localhost` together with `localhostProfile`",
            BOTH,
            |context| {
                let mut profile = context.app_armor_profile.iter();
                profile.any(|it| (it.type_ == "Localhost") != it.localhost_profile.is_some())
            },
        ),
    ];

    fn narrowing() -> Json {
        let kind = json!({"enum": ["RuntimeDefault", "Unconfined", "Localhost", null]});
        json!({"properties": {
            // `Unmasked` is for pods with a user namespace alone.
            "procMount": {"enum": ["Default", null]},
            "seccompProfile": {"properties": {"type": kind, "localhostProfile": inner_path()}},
            "appArmorProfile": {"properties": {"type": kind, "localhostProfile": text("[!-~]+", "use a name without spaces")}},
            // The agent does not run on Windows.
            "windowsOptions": null,
        }})
    }
}

impl Validated for VolumeMount {
    const RULES: &'static [Rule<Self>] = &[
        Rule::new(
            &[],
            "names a volume that is injected",
            "use the name of a volume of the pod",
            |mount| Volume::ALL.iter().any(|volume| volume.name() == mount.name),
        ),
        Rule::new(
            &[],
            "has both `subPath` and `subPathExpr`",
            "remove one of them",
            |mount| mount.sub_path.is_some() && mount.sub_path_expr.is_some(),
        ),
        Rule::new(
            &[],
            "has `recursiveReadOnly` without `readOnly`, or with `mountPropagation`",
            "set `readOnly: true` alone beside it",
            |mount| {
                let differs = |value: &Option<String>, default| {
                    value.as_ref().is_some_and(|value| value != default)
                };
                differs(&mount.recursive_read_only, "Disabled")
                    && (mount.read_only != Some(true) || differs(&mount.mount_propagation, "None"))
            },
        ),
    ];

    fn narrowing() -> Json {
        json!({"required": ["name", "mountPath"], "properties": {
            "mountPath": text(
                concat!("(/+", path_name!(":"), ")+/*"),
                "use a path below `/`, without `:` and `..`",
            ),
            "subPath": inner_path(),
            "subPathExpr": inner_path(),
            // `Bidirectional` is for privileged containers.
            "mountPropagation": {"enum": ["None", "HostToContainer", null]},
            "recursiveReadOnly": {"enum": ["Disabled", "IfPossible", "Enabled", null]},
        }})
    }
}

impl Validated for EnvVar {
    const RULES: &'static [Rule<Self>] = &[
        Rule::new(
            &[],
            "has both `value` and `valueFrom`",
            "remove one of them",
            |variable| variable.value.is_some() && variable.value_from.is_some(),
        ),
        Rule::new(
            &[],
            "has the `divisor` of another resource",
            "for example `1m` for a CPU, `1Mi` for memory",
            |variable| {
                let from = variable.value_from.iter();
                let mut amounts = from.filter_map(|from| from.resource_field_ref.as_ref());
                amounts.any(|amount| {
                    let divisor = amount.divisor.as_ref().map_or("1", |divisor| &divisor.0);
                    !matches!(divisor, "0" | "1")
                        && amount.resource.ends_with("cpu") != (divisor == "1m")
                })
            },
        ),
    ];

    fn narrowing() -> Json {
        let reference = json!({"required": ["name", "key"], "properties": {
            "name": text(Constraint::ObjectName.pattern(), "use the name of an object"),
            "key": text(Constraint::DataKey.pattern(), "use a key of the object"),
        }});
        let label = Constraint::MetadataName.pattern();
        let path = format!(
            r"metadata\.(name|namespace|uid|(labels|annotations)\['{label}'\])|spec\.(nodeName|serviceAccountName)|status\.(hostIP|podIP)s?"
        );
        json!({"required": ["name"], "properties": {
            "name": text("[!-<>-~]+", "use letters, digits, `_`, `-` and `.`"),
            "valueFrom": {"minProperties": 1, "maxProperties": 1, "properties": {
                "secretKeyRef": reference,
                "configMapKeyRef": reference,
                "fieldRef": {"required": ["fieldPath"], "properties": {
                    "apiVersion": {"enum": ["v1", null]},
                    "fieldPath": text(&path, "for example `spec.nodeName` or `metadata.labels['app']`"),
                }},
                "resourceFieldRef": {"required": ["resource"], "properties": {
                    "resource": text(
                        r"(requests|limits)\.(cpu|memory|ephemeral-storage)",
                        "for example `limits.memory`",
                    ),
                    "divisor": text("0|1([mkMGTPE]|[KMGTPE]i)?", "for example `1Mi`"),
                }},
            }},
        }})
    }
}

impl Validated for ResourceRequirements {
    fn narrowing() -> Json {
        // The pods have no such claims.
        json!({"properties": {"claims": null}})
    }
}

const PAGES: &str = "hugepages-";

/// The resources of which a container may request less than its limit.
const SHARED: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Returns the amounts of a setting that break a rule.
pub(super) fn amounts(setting: &SettingRow, resources: &ResourceRequirements) -> Vec<Conflict> {
    let mut found = Vec::new();
    for (list, amounts) in [
        ("requests", &resources.requests),
        ("limits", &resources.limits),
    ] {
        for (name, amount) in amounts.iter().flatten() {
            let wrong = unknown_resource(name).or_else(|| fraction(name, &amount.0));
            let path = setting.part(&[list, name]);
            found.extend(wrong.map(|violation| Conflict::about(vec![path], violation)));
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
        let mut paths = vec![setting.part(&["requests", name])];
        paths.extend(limit.map(|_| setting.part(&["limits", name])));
        found.push(Conflict::about(paths, violation));
    }
    found
}

/// Rejects a resource that Kubernetes does not have: `memroy`, but not `example.com/gpu`.
fn unknown_resource(name: &str) -> Option<Violation> {
    let is_known = match name.strip_prefix(PAGES) {
        Some(size) => nanos(size) > Some(0),
        None if name.contains('/') => {
            Constraint::MetadataName.check(name).is_ok() && !name.starts_with("requests.")
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
    let (unit, mistyped) = match SHARED.contains(&name) {
        true => ("bytes", amount.strip_suffix('m')),
        false => ("units", None),
    };
    let violation = Violation::new(format!("is not a whole number of {unit}: `{amount}`"));
    Some(match mistyped {
        Some(number) => violation.with_help(format!("did you mean `{number}Mi`?")),
        None => violation,
    })
}
