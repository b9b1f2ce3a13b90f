//! For a person at a terminal: a table by file, what is told beside it, what must exist.

use super::{Because, Explanation, Made, Needed, Permitted, Template, Told};
use crate::diagnostic::visible;
use crate::rbac::{Access, LESS, NODES_PROXY, PERMITS};
use crate::report::{Identity, Reason, Severity};
use serde_json::Value;
use std::fmt::Write as _;

/// The explanation as text; lines end with a line feed.
#[must_use]
pub fn text(explanation: &Explanation) -> String {
    let mut text = String::new();
    let rows: Vec<[String; 4]> = explanation.templates.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2)];
    let mut file = None;
    for (template, [place, resource, decision, because]) in explanation.templates.iter().zip(&rows) {
        if file != Some(&template.place.file) {
            let gap = if file.is_some() { "\n" } else { "" };
            file = Some(&template.place.file);
            line(&mut text, &format!("{gap}{}", template.place.file));
        }
        let [first, second, third] = widths;
        line(&mut text, &format!("  {place:first$}  {resource:second$}  {decision:third$}  {because}"));
        if template.decision.severity == Severity::Error || says_more(&template.decision) {
            told(&mut text, &template.decision, "      ");
        }
        for warning in &template.warnings {
            told(&mut text, warning, "      ");
        }
        for (who, made) in [("the agent", &template.agent), ("wait-for", &template.wait_for)] {
            if let Some(made) = made {
                settings(&mut text, who, made);
            }
        }
    }
    for finding in &explanation.findings {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(gap);
        told(&mut text, finding, "");
    }
    needed(&mut text, &explanation.needed);
    permitted(&mut text, &explanation.permissions);
    if let Some(totals) = totals(explanation) {
        let gap = if text.is_empty() { "" } else { "\n" };
        line(&mut text, &format!("{gap}{totals}"));
    }
    text
}

/// `3 injected, 1 opted-out, 12 without pod template`
fn totals(explanation: &Explanation) -> Option<String> {
    let of = |reason: &Reason| explanation.templates.iter().filter(|one| one.decision.id == reason.id()).count();
    let counts = Reason::ALL.iter().map(|reason| (of(reason), reason.id()));
    let counts = counts.chain([(explanation.without_pod_template, "without pod template")]);
    let counts: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

fn line(text: &mut String, line: &str) {
    for part in line.split('\n') {
        text.push_str(visible(part.trim_end()).as_ref());
        text.push('\n');
    }
}

/// The line of the resource, who it is and where its template is, what was decided, and why.
fn row(template: &Template) -> [String; 4] {
    let field = if template.template.is_empty() { String::new() } else { format!(" {}", template.template) };
    let resource = name(&template.resource) + &field;
    [format!("line {}", template.place.line), resource, template.decision.id.to_owned(), because(template)]
}

/// `Deployment/shop/web`
fn name(resource: &Identity) -> String {
    let parts = [&*resource.kind, resource.namespace.as_deref().unwrap_or_default(), &resource.name];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

fn because(template: &Template) -> String {
    match &template.because {
        None => String::new(),
        Some(Because { rule, value: Some(value), origin }) => format!("{rule}: {} ({origin})", short(value)),
        Some(Because { rule, value: None, origin }) => format!("{rule} ({origin})"),
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
fn says_more(decision: &Told) -> bool {
    let sentence = Reason::ALL.iter().find(|reason| reason.id() == decision.id).map(|reason| reason.sentence());
    sentence != Some(&decision.message)
}

fn told(text: &mut String, told: &Told, indent: &str) {
    let place = told.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    let resource = told.resource.as_ref().map(|resource| format!("{}: ", name(resource))).unwrap_or_default();
    let Told { id, severity, message, .. } = told;
    line(text, &format!("{indent}{place}{}[{id}]: {resource}{message}", severity.name()));
    if let Some(help) = &told.help {
        line(text, &format!("{indent}  help: {help}"));
    }
}

fn settings(text: &mut String, who: &str, made: &Made) {
    line(text, &format!("\n      {who} stands in {}, made from:", made.stands_in));
    let values: Vec<String> = made.settings.iter().map(|setting| plain(&setting.value)).collect();
    let path = made.settings.iter().map(|setting| setting.path.chars().count()).max().unwrap_or_default();
    // One long value does not push all origins out of sight.
    let value = values.iter().map(|value| value.chars().count()).filter(|count| *count <= 50).max().unwrap_or_default();
    for (setting, shown) in made.settings.iter().zip(&values) {
        line(text, &format!("        {:path$}  {shown:value$}  {}", setting.path, setting.origin));
    }
}

fn needed(text: &mut String, needed: &[Needed]) {
    if needed.is_empty() {
        return;
    }
    let gap = if text.is_empty() { "" } else { "\n" };
    line(
        text,
        &format!("{gap}needed before the pods start; an agent that does not find it exits, and its pod is not ready:"),
    );
    for Needed { namespace, kind, name, key, presence, place } in needed {
        let mut what = String::new();
        let _ = match namespace {
            Some(namespace) => write!(what, "{kind} {namespace}/{name}"),
            None => write!(what, "{kind} {name} in the pods' namespace"),
        };
        if let Some(key) = key {
            let _ = write!(what, ", key {key}");
        }
        let found = place.as_ref().map_or((*presence).to_owned(), ToString::to_string);
        line(text, &format!("  {what}: {found}"));
    }
}

fn permitted(text: &mut String, permissions: &[Permitted]) {
    if permissions.is_empty() {
        return;
    }
    line(text, "\nto be permitted, as `rbac` prints it; an agent that is not reports nothing, and says so nowhere:");
    for Permitted { namespace, service_accounts, get, .. } in permissions {
        let accounts: Vec<&str> = service_accounts.iter().map(String::as_str).collect();
        let word = if accounts.len() == 1 { "ServiceAccount" } else { "ServiceAccounts" };
        let place = namespace.as_ref().map_or("the pods' namespace", String::as_str);
        line(text, &format!("  {word} {} in {place}: get {}", accounts.join(", "), get.join(" and ")));
    }
    let mut proxies = permissions.iter().filter(|permitted| permitted.get.contains(&NODES_PROXY)).peekable();
    if proxies.peek().is_some() {
        let less = if proxies.any(|permitted| permitted.access == Access::Kubelet) {
            format!("; {LESS}")
        } else {
            String::new()
        };
        line(text, &format!("  {NODES_PROXY}: {PERMITS}{less}"));
    }
}
