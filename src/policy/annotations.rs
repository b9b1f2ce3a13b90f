//! The annotations that the policy reads, a row each: which values it takes, and what they do to the agent.

use crate::config::{Config, Constraint, Qos, WarningId, of_variable};
use crate::mackerel::annotations::{Annotation, PREFIX};
use crate::manifest::quantity::nanos;
use crate::policy::cel::{self, Named};
use crate::policy::conditions::ANNOTATIONS;
use crate::report::Reason;

/// An annotation that overrides a setting.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) annotation: Annotation,
    /// The variable that holds its value, `''` without the annotation.
    pub(super) variable: &'static str,
    /// A value by which the engine renders the agent; the variable replaces it.
    pub(super) sample: &'static str,
    /// The condition on a value `v` that the policy takes.
    guard: String,
    /// True if the engine takes no other value.
    pub(super) is_exact: bool,
    /// The CEL calls, after the value, that turn it into the text of the agent.
    change: &'static str,
}

impl Row {
    fn new(annotation: Annotation, variable: &'static str, sample: &'static str) -> Self {
        Self {
            annotation,
            variable,
            sample,
            guard: String::new(),
            is_exact: true,
            change: "",
        }
    }

    /// Returns the variable with the value. An empty one of an alias does not count.
    pub(super) fn value(&self) -> Named {
        let keys = keys(self.annotation);
        let value = match &keys[..] {
            [key] => format!("variables.annotations[?{}].orValue('')", cel::string(key)),
            _ => format!(
                "({}.map(k, variables.annotations[?k].orValue('')).filter(v, v != '') + [''])[0]",
                cel::strings(&keys)
            ),
        };
        Named::new(self.variable, value + self.change)
    }

    /// Returns the condition that the annotation is absent, or has a value that the policy takes. An alias must say the same.
    pub(super) fn condition(&self) -> Named {
        let Self {
            variable, guard, ..
        } = self;
        let keys = keys(self.annotation);
        let mut condition = all(&keys, guard);
        if keys.len() > 1 {
            let same = format!("v in ['', variables.{variable}]");
            condition += &format!("\n&& {}", all(&keys, &same));
        }
        Named::new(&format!("{variable}IsTaken"), condition)
    }
}

/// Returns the condition that each of these annotations is absent, or has a value `v` that meets the guard.
fn all(keys: &[String], guard: &str) -> String {
    let keys = cel::strings(keys);
    format!("{keys}.all(k, {ANNOTATIONS}[?k].optMap(v, {guard}).orValue(true))")
}

/// Returns the condition that no value that other conditions read is so long that it costs the API server seconds.
pub(super) fn short_values(rows: &[Row]) -> String {
    let mut read = keys(Annotation::IgnoreWarnings);
    for row in rows {
        read.extend(keys(row.annotation));
    }
    all(&read, SHORT)
}

/// The condition on the length of a value.
const SHORT: &str = "size(string(v)) <= 1000";

/// Returns the full keys of an annotation and its alias.
pub(super) fn keys(annotation: Annotation) -> Vec<String> {
    let names = annotation.names();
    names.map(|name| format!("{PREFIX}{name}")).collect()
}

/// Returns the rows that the configuration allows.
pub(super) fn rows(config: &Config) -> Vec<Row> {
    let mut rows = vec![roles(config), secret(), image(), ignore_container()];
    // Under another value the limit may decide about the pod's class, and that about the agent.
    if matches!(config.spec.qos, Qos::Allow | Qos::Warn) {
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

fn roles(config: &Config) -> Row {
    let name = "[A-Za-z0-9][A-Za-z0-9_-]{1,62}";
    let mut row = Row {
        guard: format!(
            "v.split(',').map(r, r.trim()).all(r, r == '' || r.matches('^{name}:{name}$'))"
        ),
        change: ".split(',').map(r, r.trim()).filter(r, r != '').join(',')",
        ..Row::new(Annotation::Roles, "roles", "policy-slot:policy-slot")
    };
    if !config.spec.agent.roles.is_empty() {
        // A list without roles unsets the configured ones, which the policy leaves to the engine.
        row.guard += " && variables.roles != ''";
        row.is_exact = false;
    }
    row
}

fn secret() -> Row {
    let label = "[a-z0-9]([a-z0-9-]*[a-z0-9])?";
    Row {
        guard: format!("v == '' || size(string(v)) <= 253 && v.matches('^{label}([.]{label})*$')"),
        ..Row::new(Annotation::ApiKeySecretName, "secret", "policy-slot-secret")
    }
}

fn image() -> Row {
    Row {
        guard: format!(
            "v.matches({})",
            cel::string(&format!("^({})$", Constraint::Image.pattern()))
        ),
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
            "v.matches('^[0-9]{{1,9}}(k|[MGT]i?|Ki)?$') && !quantity(string(v)).isLessThan(quantity({least}))"
        ),
        is_exact: false,
        ..Row::new(Annotation::MemoryLimit, "memoryLimit", "987654321987Mi")
    }
}

/// Returns the condition on the ids of `ignore-warnings`.
pub(super) fn ignored_warnings() -> String {
    let mut ids = vec![""];
    for reason in Reason::ALL {
        if WarningId::parse_of_template(reason.id()).is_ok() {
            ids.push(reason.id());
        }
    }
    let ids = cel::strings(&ids);
    let guard = format!("v.split(',').map(i, i.trim()).all(i, i in {ids})");
    all(&keys(Annotation::IgnoreWarnings), &guard)
}

/// Returns a condition that fails for a pod with an annotation of this injector that the policy does not read.
pub(super) fn known(config: &Config, rows: &[Row]) -> String {
    let mut known = Vec::new();
    for annotation in Annotation::ALL {
        if *annotation != Annotation::Env && is_known(*annotation, config, rows) {
            known.extend(keys(*annotation));
        }
    }
    let (prefix, known) = (cel::string(PREFIX), cel::strings(&known));
    format!("variables.annotations.all(k, !k.startsWith({prefix}) || k in {known})")
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
    all(&keys, &format!(r"{SHORT} && v.matches('^[\\s,]*$')"))
}

#[cfg(test)]
mod tests {
    use super::{is_known, rows};
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
        Annotation::DisplayName,
        Annotation::Memo,
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
}
