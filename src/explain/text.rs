//! An explanation as text: a table by file, findings, objects that must exist.

use crate::agent::components::ComponentSet;
use crate::agent::kubelet_access::{KubeletAccess, LESS, NODES_PROXY, PERMITS};
use crate::diagnostic::{Severity, visible};
use crate::explain::{
    CauseView, ContainerSettings, Explanation, FindingView, PermissionView, RequirementView,
    TemplateView,
};
use crate::manifest::identity::Identity;
use crate::options::Tense;
use crate::report::Reason;
use serde_json::Value;
use std::collections::HashSet;

/// The explanation as text; lines end with a line feed.
pub(crate) fn text(explanation: &Explanation) -> String {
    let mut text = String::new();
    let rows: Vec<[String; 4]> = explanation.templates.iter().map(row).collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2)];
    let mut file = None;
    let mut printed = Printed::new();
    for (template, [place, resource, decision, because]) in explanation.templates.iter().zip(&rows)
    {
        if file != Some(&template.place.file) {
            let gap = if file.is_some() { "\n" } else { "" };
            file = Some(&template.place.file);
            line(&mut text, &format!("{gap}{}", template.place.file));
        }
        let [first, second, third] = widths;
        line(
            &mut text,
            &format!("  {place:first$}  {resource:second$}  {decision:third$}  {because}"),
        );
        if template.decision.severity == Severity::Error || says_more(&template.decision) {
            below(
                &mut text,
                &template.decision,
                &template.place.file,
                &mut printed,
            );
        }
        for warning in &template.warnings {
            below(&mut text, warning, &template.place.file, &mut printed);
        }
        for (who, made) in [
            ("the agent", &template.agent),
            ("wait-for", &template.wait_for),
        ] {
            if let Some(made) = made {
                settings(&mut text, who, made);
            }
        }
    }
    for finding in &explanation.findings {
        // A further place of an earlier finding takes one line.
        let gap = if text.is_empty() || printed.contains(&(finding.id, &*finding.message)) {
            ""
        } else {
            "\n"
        };
        text.push_str(gap);
        let place = finding.place.as_ref().map(ToString::to_string);
        finding_lines(&mut text, finding, "", place, &mut printed);
    }
    needed(&mut text, &explanation.needed);
    permitted(&mut text, &explanation.permissions);
    if let Some(totals) = totals(explanation) {
        let gap = if text.is_empty() { "" } else { "\n" };
        line(&mut text, &format!("{gap}{totals}"));
    }
    if let Some(hosts) = explanation.mackerel.line() {
        line(&mut text, &hosts);
    }
    text
}

/// `3 would be injected, 1 skipped (opted-out), 12 without pod template`
fn totals(explanation: &Explanation) -> Option<String> {
    let of = |reason: &Reason| {
        explanation
            .templates
            .iter()
            .filter(|one| one.decision.id == reason.id())
            .count()
    };
    let counts = Reason::ALL
        .iter()
        .map(|reason| (*reason, of(reason)))
        .filter(|(_, count)| *count > 0);
    let mut counts = Tense::Conditional.decisions(&counts.collect());
    if explanation.without_pod_template > 0 {
        counts.push(format!(
            "{} without pod template",
            explanation.without_pod_template
        ));
    }
    (!counts.is_empty()).then(|| counts.join(", "))
}

fn line(text: &mut String, line: &str) {
    for part in line.split('\n') {
        text.push_str(visible(part.trim_end()).as_ref());
        text.push('\n');
    }
}

/// Line, resource with the path of its template, decision and cause.
fn row(template: &TemplateView) -> [String; 4] {
    let field = if template.template.is_empty() {
        String::new()
    } else {
        format!(" {}", template.template)
    };
    let resource = name(&template.resource) + &field;
    let id = template.decision.id;
    let is_change = Reason::ALL
        .iter()
        .any(|reason| reason.id() == id && reason.done().is_some());
    let decision = if is_change {
        format!("would be {id}")
    } else {
        id.to_owned()
    };
    [
        format!("line {}", template.place.line),
        resource,
        decision,
        because(template),
    ]
}

/// `Deployment/shop/web`
fn name(resource: &Identity) -> String {
    let parts = [
        &*resource.kind,
        resource.namespace.as_deref().unwrap_or_default(),
        &resource.name,
    ];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("/")
}

fn because(template: &TemplateView) -> String {
    match &template.because {
        None => String::new(),
        Some(CauseView {
            rule,
            value: Some(value),
            origin,
        }) => format!("{rule}: {} ({origin})", short(value)),
        Some(CauseView {
            rule,
            value: None,
            origin,
        }) => format!("{rule} ({origin})"),
    }
}

/// Long values are shown where one resource is asked about.
fn short(value: &Value) -> String {
    const MOST: usize = 40;
    let text = plain(value);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        other => other.to_string(),
    }
}

/// True where the message says more than the id.
fn says_more(decision: &FindingView) -> bool {
    let reason = Reason::ALL.iter().find(|reason| reason.id() == decision.id);
    !reason.is_some_and(|reason| match reason.done() {
        Some(done) => ComponentSet::Agent(()).passive(Tense::Conditional, done) == decision.message,
        None => reason.sentence() == decision.message,
    })
}

/// Sentences and help that were printed: each is printed once.
type Printed<'t> = HashSet<(&'static str, &'t str)>;

/// A finding below its template, under the heading of its file.
fn below<'t>(text: &mut String, finding: &'t FindingView, file: &str, printed: &mut Printed<'t>) {
    let place = finding
        .place
        .as_ref()
        .map(|place| match place.file == file {
            true => format!("line {}:{}", place.line, place.column),
            false => place.to_string(),
        });
    finding_lines(text, finding, "      ", place, printed);
}

/// ```text
/// warning[qos-changed]: the agent changes the pod's QoS class
///   --> line 12:5
///   = help: to keep it, set `qos: keep`
/// ```
///
/// Later ones with the same sentence are `warning[qos-changed] at line 30:5`. Errors have their sentence always.
fn finding_lines<'t>(
    text: &mut String,
    finding: &'t FindingView,
    indent: &str,
    place: Option<String>,
    printed: &mut Printed<'t>,
) {
    let FindingView {
        id,
        severity,
        message,
        resource,
        help,
        ..
    } = finding;
    let is_new = printed.insert((id, message));
    if let (false, true, Some(place)) = (is_new, *severity != Severity::Error, &place) {
        line(
            text,
            &format!("{indent}{}[{id}] at {place}", severity.name()),
        );
        return;
    }
    let resource = resource
        .as_ref()
        .map(|resource| format!("{}: ", name(resource)))
        .unwrap_or_default();
    line(
        text,
        &format!("{indent}{}[{id}]: {resource}{message}", severity.name()),
    );
    if let Some(place) = place {
        line(text, &format!("{indent}  --> {place}"));
    }
    if let Some(help) = help
        .as_deref()
        .filter(|help| printed.insert(("help", help)))
    {
        line(text, &format!("{indent}  = help: {help}"));
    }
}

fn settings(text: &mut String, who: &str, made: &ContainerSettings) {
    line(
        text,
        &format!("\n      settings of {who} in {}:", made.stands_in),
    );
    let values: Vec<String> = made
        .settings
        .iter()
        .map(|setting| plain(&setting.value))
        .collect();
    let path = made
        .settings
        .iter()
        .map(|setting| setting.path.chars().count())
        .max()
        .unwrap_or_default();
    // One long value does not push all origins out of sight.
    let value = values
        .iter()
        .map(|value| value.chars().count())
        .filter(|count| *count <= 50)
        .max()
        .unwrap_or_default();
    for (setting, shown) in made.settings.iter().zip(&values) {
        line(
            text,
            &format!(
                "        {:path$}  {shown:value$}  {}",
                setting.path, setting.origin
            ),
        );
    }
}

fn needed(text: &mut String, needed: &[RequirementView]) {
    if needed.is_empty() {
        return;
    }
    let gap = if text.is_empty() { "" } else { "\n" };
    line(
        text,
        &format!(
            "{gap}required before the pods start; without them the agent does not start or exits, and its pod is not ready:"
        ),
    );
    // One line for the namespaces that need the same.
    let mut lines: Vec<(String, Vec<&str>, String)> = Vec::new();
    for RequirementView {
        namespace,
        kind,
        name,
        key,
        presence,
        place,
    } in needed
    {
        let namespace = namespace.as_deref().unwrap_or(UNNAMED);
        let object = format!("{kind} {name}");
        let key = key
            .as_ref()
            .map(|key| format!(", key {key}"))
            .unwrap_or_default();
        let found = place
            .as_ref()
            .map_or((*presence).to_owned(), ToString::to_string);
        let found = format!("{key}: {found}");
        match lines
            .iter_mut()
            .find(|(other, _, there)| (other, there) == (&object, &found))
        {
            Some((_, namespaces, _)) => namespaces.push(namespace),
            None => lines.push((object, vec![namespace], found)),
        }
    }
    for (object, mut namespaces, found) in lines {
        namespaces.sort_by_key(|namespace| *namespace == UNNAMED);
        if let [_, .., last] = &mut *namespaces
            && *last == UNNAMED
        {
            *last = UNNAMED_BESIDE_OTHERS;
        }
        line(
            text,
            &format!("  {object} in {}{found}", namespaces.join(", ")),
        );
    }
}

/// The namespace of resources that name none.
pub(crate) const UNNAMED: &str = "the namespace of the pods";
/// The same beside namespaces with a name.
pub(crate) const UNNAMED_BESIDE_OTHERS: &str = "the namespace of the other pods";

fn permitted(text: &mut String, permissions: &[PermissionView]) {
    let Some(PermissionView { written, .. }) = permissions.first() else {
        return;
    };
    line(
        text,
        &format!(
            "\nrequired permissions ({written} them); without them the agent reports nothing, although its pod is ready:"
        ),
    );
    let (named, unnamed): (Vec<_>, Vec<_>) = permissions
        .iter()
        .partition(|permitted| permitted.namespace.is_some());
    let of_unnamed = if named.is_empty() {
        UNNAMED
    } else {
        UNNAMED_BESIDE_OTHERS
    };
    for PermissionView {
        namespace,
        service_accounts,
        get,
        ..
    } in named.into_iter().chain(unnamed)
    {
        let word = if service_accounts.len() == 1 {
            "ServiceAccount"
        } else {
            "ServiceAccounts"
        };
        let names = service_accounts
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let namespace = namespace.as_deref().unwrap_or(of_unnamed);
        line(
            text,
            &format!("  get {}: {word} {names} in {namespace}", get.join(" and ")),
        );
    }
    let mut proxies = permissions
        .iter()
        .filter(|permitted| permitted.get.contains(&NODES_PROXY))
        .peekable();
    if proxies.peek().is_some() {
        let is_kubelet = proxies.any(|permitted| permitted.access == KubeletAccess::Kubelet);
        let less = if is_kubelet {
            format!("; {LESS}")
        } else {
            String::new()
        };
        line(text, &format!("  {NODES_PROXY}: {PERMITS}{less}"));
    }
}
