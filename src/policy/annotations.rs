//! The annotations that the policy reads, a row each: which values it takes, and what they do to the agent.

use crate::config::{Config, Qos, WarningId, of_variable};
use crate::mackerel::annotations::{Annotation, PREFIX};
use crate::manifest::qos;
use crate::manifest::quantity::nanos;
use crate::policy::cel::{self, Named};
use crate::report::Reason;
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// An annotation that overrides a setting.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) annotation: Annotation,
    /// The variable that holds its value, `''` without the annotation.
    pub(super) variable: &'static str,
    /// The condition on a value `v` that the policy takes; it is at most `MAX_VALUE` long.
    guard: String,
    /// True if the engine takes no other value of that length.
    pub(super) is_exact: bool,
    /// The CEL calls, after the value, that turn it into the text of the agent.
    change: &'static str,
    /// The forms of a value: those of one form have the same effect, but for the value itself.
    pub(super) forms: Vec<Form>,
}

/// A form of an annotation's value.
#[derive(Debug)]
pub(super) struct Form {
    /// The condition in the policy. No two forms meet theirs.
    pub(super) condition: String,
    /// A value of the form, by which the engine renders the agent.
    pub(super) text: &'static str,
}

/// The most characters of an annotation's value: long ones cost the API server seconds.
const MAX_VALUE: usize = 1000;

impl Row {
    /// A row whose every value goes into the agent in place of a sample.
    fn new(annotation: Annotation, variable: &'static str, sample: &'static str) -> Self {
        Self {
            annotation,
            variable,
            guard: String::new(),
            is_exact: true,
            change: "",
            forms: vec![Form {
                condition: format!("variables.{variable} != ''"),
                text: sample,
            }],
        }
    }

    /// Returns the value in whose place the variable stands.
    pub(super) fn sample(&self) -> &'static str {
        self.forms.last().map_or("", |form| form.text)
    }

    /// Returns the condition that a value of the pod meets the guard. An alias must say the same.
    pub(super) fn condition(&self, long: LongValue) -> Named {
        let keys = keys(self.annotation);
        let mut conditions: Vec<_> = keys
            .iter()
            .map(|key| bounded(key, &self.guard, long))
            .collect();
        if keys.len() > 1 {
            let given = format!(
                "{}.map(k, object.metadata.?annotations[?k].orValue('')).filter(v, v != '')",
                cel::strings(&keys)
            );
            conditions.push(format!("{given}.all(v, {given}.all(other, v == other))"));
        }
        Named::new(self.variable, conditions.join("\n&& "))
    }

    /// Returns the variable.
    pub(super) fn value(&self) -> Named {
        let keys = keys(self.annotation);
        let values = format!(
            "{}.map(k, variables.annotations[?k].orValue('')).filter(v, v != '')",
            cel::strings(&keys)
        );
        let value = match &keys[..] {
            [key] => format!("variables.annotations[?{}].orValue('')", cel::string(key)),
            _ => format!("({values} + [''])[0]"),
        };
        Named::new(self.variable, value + self.change)
    }
}

/// The verdict on a value that is too long to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongValue {
    Fails,
    Passes,
}

/// Returns the condition that the annotation is absent, or has a value `v` that meets the guard.
fn bounded(key: &str, guard: &str, long: LongValue) -> String {
    let key = cel::string(key);
    let length = match long {
        LongValue::Fails => format!("size(string(v)) <= {MAX_VALUE}\n  &&"),
        LongValue::Passes => format!("size(string(v)) > {MAX_VALUE}\n  ||"),
    };
    format!("object.metadata.?annotations[?{key}].optMap(v, {length} ({guard})).orValue(true)")
}

/// Returns the full keys of an annotation and its alias.
pub(super) fn keys(annotation: Annotation) -> Vec<String> {
    let names = annotation.names();
    names.map(|name| format!("{PREFIX}{name}")).collect()
}

/// Returns the rows that the configuration allows.
pub(super) fn rows(config: &Config) -> Vec<Row> {
    let mut rows = vec![
        roles(),
        secret(),
        image(),
        ignore_container(),
        free_text(Annotation::DisplayName, "displayName", "policy-slot-name"),
        free_text(Annotation::Memo, "memo", "policy-slot-memo"),
    ];
    if !class_depends_on_memory(config) {
        rows.push(memory_limit(config));
    }
    // The annotation would move a variable of `agent.env`.
    let is_in_env = |row: &Row| {
        let mut settings = config
            .spec
            .agent
            .env
            .iter()
            .filter_map(|given| of_variable(&given.name));
        settings.any(|(setting, _)| row.annotation.setting() == Some(setting.path))
    };
    rows.retain(|row| config.allows(row.annotation) && !is_in_env(row));
    rows
}

fn roles() -> Row {
    let key = cel::string(Annotation::Roles.key());
    let name = "[A-Za-z0-9][A-Za-z0-9_-]{1,62}";
    let mut row = Row {
        guard: format!(
            "v.split(',').map(r, r.trim()).all(r, r == '' || r.matches('^{name}:{name}$'))"
        ),
        change: ".split(',').map(r, r.trim()).filter(r, r != '').join(',')",
        ..Row::new(Annotation::Roles, "roles", "policy-slot:policy-slot")
    };
    let none = Form {
        condition: format!("({key} in variables.annotations && variables.roles == '')"),
        text: "",
    };
    row.forms.insert(0, none);
    row
}

fn secret() -> Row {
    let label = "[a-z0-9]([a-z0-9-]*[a-z0-9])?";
    Row {
        guard: format!("v == '' || size(string(v)) <= 253 && v.matches('^{label}([.]{label})*$')"),
        ..Row::new(Annotation::ApiKeySecretName, "secret", "policy-slot-secret")
    }
}

/// A row of an annotation that takes any text. Empty text unsets the setting, which the policy leaves to the engine.
fn free_text(annotation: Annotation, variable: &'static str, sample: &'static str) -> Row {
    Row {
        guard: "v != ''".to_owned(),
        is_exact: false,
        ..Row::new(annotation, variable, sample)
    }
}

fn image() -> Row {
    Row {
        guard: "v.matches('^[!-~]+$') && !v.matches('^[/:@]')".to_owned(),
        ..Row::new(Annotation::Image, "image", "policy-slot-image")
    }
}

/// The patterns are a part of those that the agent takes, so that none is read in another way.
fn ignore_container() -> Row {
    let atom = "[A-Za-z0-9_^$|-]|[.][*+?]?";
    Row {
        guard: format!(
            r"v.matches('^({atom}|\\(({atom})*\\))+$') && !v.contains('$$') && !v.contains('$(')"
        ),
        is_exact: false,
        ..Row::new(
            Annotation::IgnoreContainer,
            "ignoreContainer",
            "policy-slot-ignore-container",
        )
    }
}

fn memory_limit(config: &Config) -> Row {
    let requests = config.spec.agent.resources.requests.as_ref();
    let request = requests.and_then(|requests| requests.get("memory"));
    let request = request.filter(|request| nanos(&request.0).is_some());
    let least = cel::string(request.map_or("0", |request| &request.0));
    Row {
        guard: format!(
            "v == 'null' || v.matches('^[0-9]{{1,9}}(k|[MGT]i?|Ki)?$') && !quantity(string(v)).isLessThan(quantity({least}))"
        ),
        is_exact: false,
        forms: vec![
            Form {
                condition: "variables.memoryLimit == 'null'".to_owned(),
                text: "null",
            },
            Form {
                condition: "!(variables.memoryLimit in ['', 'null'])".to_owned(),
                text: "987654321987Mi",
            },
        ],
        ..Row::new(Annotation::MemoryLimit, "memoryLimit", "")
    }
}

/// Returns true if a memory limit decides whether a pod with the agent can be Guaranteed, and that changes the agent.
fn class_depends_on_memory(config: &Config) -> bool {
    let mut resources = ResourceRequirements::clone(&config.spec.agent.resources);
    for amounts in [&mut resources.requests, &mut resources.limits] {
        let amounts = amounts.get_or_insert_default();
        amounts.insert("memory".to_owned(), Quantity("1Gi".to_owned()));
    }
    matches!(config.spec.qos, Qos::Keep | Qos::Refuse) && qos::keeps_guaranteed(&resources)
}

/// Returns the condition on the ids of `ignore-warnings`.
pub(super) fn ignored_warnings(long: LongValue) -> String {
    let mut ids = vec![""];
    for reason in Reason::ALL {
        if WarningId::parse_of_template(reason.id()).is_ok() {
            ids.push(reason.id());
        }
    }
    let ids = cel::strings(&ids);
    let guard = format!("v.split(',').map(i, i.trim()).all(i, i in {ids})");
    bounded(Annotation::IgnoreWarnings.key(), &guard, long)
}

/// Returns the condition that the value of `status`, which stays as it is, is not too long.
pub(super) fn status() -> String {
    bounded(Annotation::Status.key(), "true", LongValue::Fails)
}

/// Returns a condition that fails for a pod with an annotation of this injector that the policy does not read.
pub(super) fn known(config: &Config, rows: &[Row]) -> String {
    let mut known = Vec::new();
    for annotation in Annotation::ALL {
        if *annotation != Annotation::Env && is_known(*annotation, config, rows) {
            known.extend(keys(*annotation));
        }
    }
    let prefix = cel::string(PREFIX);
    let mut condition = format!("!k.startsWith({prefix})");
    if !config.allows(Annotation::Env) {
        let variables = cel::string(&format!("{PREFIX}env."));
        let aliases = cel::strings(&keys(Annotation::AgentConfigLocation));
        condition += &format!("\n|| k.startsWith({variables}) && !(k in {aliases})");
    }
    let known = cel::strings(&known);
    format!("object.metadata.?annotations.orValue({{}}).all(k, {condition}\n|| k in {known})")
}

/// Returns true for an annotation about which the policy decides. One that the configuration does not allow has no effect.
fn is_known(annotation: Annotation, config: &Config, rows: &[Row]) -> bool {
    use Annotation::{IgnoreWarnings, Inject, Record, Status, WaitFor};
    matches!(
        annotation,
        Inject | Status | Record | IgnoreWarnings | WaitFor
    ) || !config.allows(annotation)
        || rows.iter().any(|row| row.annotation == annotation)
}

/// Returns the condition that the pod does not request to wait for hosts.
pub(super) fn waits_for_nothing(config: &Config) -> String {
    if !config.allows(Annotation::WaitFor) {
        return "true".to_owned();
    }
    let mut keys = keys(Annotation::WaitFor);
    keys.extend(config.spec.wait_for.annotations.iter().cloned());
    let blank = r"v.matches('^[\\s,]*$')";
    let mut conditions = Vec::new();
    for key in keys {
        conditions.push(bounded(&key, blank, LongValue::Fails));
    }
    conditions.join("\n&& ")
}

#[cfg(test)]
mod tests {
    use super::{LongValue, ignored_warnings, is_known, rows, status, waits_for_nothing};
    use crate::config::Config;
    use crate::mackerel::annotations::Annotation;

    /// The annotations that the policy does not read. A pod with one of them is left alone, and reported.
    const UNDECIDED: &[Annotation] = &[
        Annotation::ApiKeySecretKey,
        Annotation::AgentConfigMapName,
        Annotation::AgentConfigMapKey,
        Annotation::AgentConfigLocation,
        Annotation::Sidecar,
        Annotation::Platform,
        Annotation::KubeletPort,
        Annotation::KubeletReadOnlyPort,
        Annotation::KubeletInsecureTls,
        Annotation::HostStatusOnStart,
        Annotation::LogLevel,
        Annotation::CpuRequest,
        Annotation::CpuLimit,
        Annotation::MemoryRequest,
        Annotation::Env,
    ];

    #[test]
    fn every_annotation_has_a_row_or_is_undecided() {
        let config = Config::default();
        let rows = rows(&config);
        let mut undecided = Annotation::ALL.to_vec();
        undecided.retain(|annotation| !is_known(*annotation, &config, &rows));
        assert_eq!(undecided, UNDECIDED);
    }

    #[test]
    fn every_free_text_has_a_limit() {
        let config = Config::default();
        for (long, limit) in [
            (LongValue::Fails, "<= 1000\n  &&"),
            (LongValue::Passes, "> 1000\n  ||"),
        ] {
            let mut conditions = vec![ignored_warnings(long)];
            if long == LongValue::Fails {
                conditions.extend([status(), waits_for_nothing(&config)]);
            }
            conditions.extend(
                rows(&config)
                    .iter()
                    .map(|row| row.condition(long).expression),
            );
            for condition in conditions {
                let values = condition.matches(".optMap(v, ").count();
                let limit = format!(".optMap(v, size(string(v)) {limit} (");
                assert!(values > 0);
                assert_eq!(condition.matches(&limit).count(), values, "{condition}");
            }
        }
    }
}
