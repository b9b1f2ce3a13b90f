//! The agent's own configuration, where a ConfigMap of the input holds it: what the agent would refuse, which ends it, and
//! what it would ignore without a word.
//!
//! Source: the agent's help page and its behaviour, version 0.13.2.

use crate::config::{Config, closest, go_regexp};
use crate::needs::Source;
use crate::read;
use crate::report::{Finding, Reason, Remark};
use crate::surroundings::{Objects, Part, Surrounding};
use crate::yaml::{self, Kind, NodeId, Resolved, Style, Tree, resolve};
use std::collections::{HashMap, HashSet};

pub(super) fn remarks(parts: &[Part<'_>], objects: &Objects<'_>, config: &Config) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    let mut files: HashMap<(Option<&str>, &str), HashSet<&str>> = HashMap::new();
    for outcome in parts.iter().flat_map(|part| &part.injection.outcomes) {
        let Some(need) = outcome.needs.as_ref().and_then(|needs| needs.agent_config.as_ref()) else { continue };
        let namespace = outcome.identity.namespace_in(config).map(String::as_str);
        files.entry((namespace, &*need.name)).or_default().extend(need.key.as_deref());
    }
    for object in objects.of(Surrounding::Holds(Source::ConfigMap)) {
        let Some(keys) = files.get(&(object.namespace.as_deref(), &*object.identity.name)) else { continue };
        for entry in object.entries.iter().filter(|entry| keys.contains(&*entry.key)) {
            let Some(text) = &entry.value else { continue };
            let around = parts.get(object.part).map_or("", |part| part.text);
            for Fault { reason, line, message, help } in check(text, Sudo::of(config)) {
                let (place, offset) = match entry.style {
                    Style::Literal => (String::new(), start_of_line(around, entry.offset, line)),
                    _ => (format!("line {line}: "), entry.offset),
                };
                let message = format!("{place}{message}");
                let help = help.or_else(|| Some(LAYOUT.to_owned()));
                let finding = Finding { help, ..Finding::new(reason, message, offset, &entry.pointer) };
                remarks.push(object.remark(finding));
            }
        }
    }
    remarks
}

/// What to do where there is no better advice.
const LAYOUT: &str = "correct it: the agent's help page shows what may stand where";

/// Whether a plugin of the agent can become another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sudo {
    Works,
    Fails,
}

impl Sudo {
    fn of(config: &Config) -> Self {
        let context = &config.spec.agent.security_context;
        let is_root = context.run_as_user.unwrap_or_default() == 0 && context.run_as_non_root != Some(true);
        let may_change = context.allow_privilege_escalation != Some(false) && context.capabilities.is_none();
        if is_root && may_change { Sudo::Works } else { Sudo::Fails }
    }
}

/// One thing that is wrong with a configuration of the agent.
#[derive(Debug)]
struct Fault {
    reason: Reason,
    /// Of the configuration, from 1.
    line: usize,
    message: String,
    help: Option<String>,
}

fn check(text: &str, sudo: Sudo) -> Vec<Fault> {
    // The agent reads the first document and no further.
    let first = read::documents(text).next().and_then(|document| text.get(document.span)).unwrap_or_default();
    match yaml::read(first) {
        Ok(tree) => {
            let mut check = Check { tree: &tree, sudo, faults: Vec::new() };
            if let Some(root) = tree.root() {
                check.root(tree.resolve(root));
            }
            check.faults
        }
        Err(error) => {
            let line = line_of(text, error.offset);
            let message = format!("not valid YAML, so that the agent does not start: {}", error.message);
            vec![Fault { reason: Reason::AgentConfigInvalid, line, message, help: None }]
        }
    }
}

/// Each line of a literal block scalar is a line of the text around it; `header` is where its `|` stands.
fn start_of_line(text: &str, header: usize, line: usize) -> usize {
    let below = memchr::memchr_iter(b'\n', text.as_bytes().get(header..).unwrap_or_default());
    let start = below.take(line).last().map_or(header, |newline| header + newline + 1);
    let rest = text.get(start..).unwrap_or_default();
    start + (rest.len() - rest.trim_start_matches(' ').len())
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

const ROOT: [&str; 11] = [
    "apibase",
    "apikey",
    "root",
    "roles",
    "displayName",
    "memo",
    "ignoreContainer",
    "hostStatusOnStart",
    "hostIdStore",
    "readinessProbe",
    "plugin",
];
const PROBE: [&str; 6] = ["exec", "http", "tcp", "initialDelaySeconds", "periodSeconds", "timeoutSeconds"];
const PROBES: [(&str, &[&str]); 3] = [
    ("exec", &["command", "user", "env"]),
    ("http", &["scheme", "method", "host", "port", "path", "headers", "proxy"]),
    ("tcp", &["host", "port"]),
];
const METRICS_PLUGIN: [&str; 4] = ["command", "user", "env", "timeoutSeconds"];
const CHECK_PLUGIN: [&str; 5] = ["command", "user", "env", "timeoutSeconds", "memo"];

/// Merge keys inside each other. People write one.
const MOST_MERGES: usize = 8;

struct Check<'a, 't> {
    tree: &'a Tree<'t>,
    sudo: Sudo,
    faults: Vec<Fault>,
}

impl Check<'_, '_> {
    fn root(&mut self, root: NodeId) {
        if self.is_nothing(root) {
            return;
        }
        for (key, node, value) in self.known(root, "", &ROOT) {
            match key.as_str() {
                "apikey" if self.text(value).is_some_and(|key| !key.is_empty()) => self.fault(
                    Reason::PlainApiKey,
                    node,
                    "the API key stands here for all to read",
                    Some("take it away: the agent gets its key from the Secret that `apiKey` names".to_owned()),
                ),
                "roles" => self.roles(value),
                "ignoreContainer" => {
                    if let Some(Err(why)) = self.text(value).map(|pattern| go_regexp::check(&pattern)) {
                        let message = format!("`ignoreContainer` is no regular expression that the agent takes: {why}");
                        self.invalid(value, &message, None);
                    }
                }
                "hostStatusOnStart" => self.one_of(&key, value, &["working", "standby", "maintenance", "poweroff"]),
                "hostIdStore" => self.one_of(&key, value, &["file", "memory"]),
                "readinessProbe" => self.probe(value),
                "plugin" => self.plugins(value),
                "apibase" | "root" | "displayName" | "memo" => self.is_text(&key, value),
                _ => {}
            }
        }
    }

    fn roles(&mut self, roles: NodeId) {
        let list = self.tree.resolve(roles);
        if self.is_nothing(list) {
            return;
        }
        if self.tree.kind(list) != Kind::Sequence {
            let help = "write it as `[\"service:role\"]`".to_owned();
            return self.invalid(roles, "`roles` must be a list, and what is none ends the agent", Some(help));
        }
        for role in self.tree.items(list).collect::<Vec<_>>() {
            if !self.text(role).is_some_and(|role| role.contains(':')) {
                let help = "write it as `service:role`".to_owned();
                self.invalid(
                    role,
                    "a role names its service too, and Mackerel refuses others, which ends the agent",
                    Some(help),
                );
            }
        }
    }

    fn is_text(&mut self, key: &str, value: NodeId) {
        if self.tree.kind(self.tree.resolve(value)) != Kind::Scalar {
            self.invalid(value, &format!("`{key}` must be text, and what is none ends the agent"), None);
        }
    }

    fn probe(&mut self, probe: NodeId) {
        let mut kinds = Vec::new();
        for (key, _, value) in self.known(probe, "readinessProbe", &PROBE) {
            if let Some((kind, fields)) = PROBES.iter().find(|(kind, _)| *kind == key) {
                kinds.push(*kind);
                let place = format!("readinessProbe.{kind}");
                let given: Vec<String> = self.known(value, &place, fields).into_iter().map(|(key, ..)| key).collect();
                let wanted = match *kind {
                    "exec" => "command",
                    "http" => "path",
                    _ => "port",
                };
                if !given.iter().any(|key| key == wanted) {
                    self.invalid(value, &format!("`{place}` has no `{wanted}`, which ends the agent"), None);
                }
            } else if let Ok(Resolved::Int(number)) = resolve(self.tree, self.tree.resolve(value))
                && number.to_string().starts_with('-')
            {
                self.invalid(value, &format!("`readinessProbe.{key}` is below 0, which ends the agent"), None);
            }
        }
        match kinds.as_slice() {
            [_] => {}
            [] => self.invalid(probe, "`readinessProbe` has none of `exec`, `http`, `tcp`, which ends the agent", None),
            several => {
                let message = format!("`readinessProbe` has {}: only one may be there", several.join(" and "));
                self.invalid(probe, &message, Some("keep one of them".to_owned()));
            }
        }
    }

    fn plugins(&mut self, plugin: NodeId) {
        for (group, _, plugins) in self.known(plugin, "plugin", &["metrics", "checks"]) {
            let fields: &[&str] = if group == "metrics" { &METRICS_PLUGIN } else { &CHECK_PLUGIN };
            for (name, node, value) in self.entries(plugins) {
                let place = format!("plugin.{group}.{name}");
                let given = self.known(value, &place, fields);
                let is_mapping = self.tree.kind(self.tree.resolve(value)) == Kind::Mapping;
                let has_command = given.iter().any(|(key, _, command)| key == "command" && !self.is_blank(*command));
                if is_mapping && !has_command {
                    self.invalid(node, &format!("`{place}` has no `command`, which ends the agent"), None);
                }
                let user = given.iter().find(|(key, ..)| key == "user").filter(|_| self.sudo == Sudo::Fails);
                if let Some((_, user, _)) = user {
                    let message =
                        format!("`{place}.user` needs sudo, which the agent's security context does not allow");
                    let help = "run it as the agent's own user, or loosen `agent.securityContext`";
                    self.invalid(*user, &message, Some(help.to_owned()));
                }
                let env = given.iter().find(|(key, ..)| key == "env").map(|(.., env)| *env);
                for (variable, node, _) in env.map(|env| self.entries(env)).unwrap_or_default() {
                    if variable.contains('=') {
                        self.invalid(node, &format!("the name `{variable}` holds a `=`, which ends the agent"), None);
                    }
                }
            }
        }
    }

    fn one_of(&mut self, key: &str, value: NodeId, words: &[&str]) {
        let Some(text) = self.text(value) else { return };
        if !text.is_empty() && !words.contains(&&*text) {
            let help = closest(&text, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
            let listed: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            self.invalid(value, &format!("`{key}` must be one of {}, found `{text}`", listed.join(", ")), help);
        }
    }

    /// The entries whose keys are known; of the others it is said that the agent does not see them.
    fn known(&mut self, mapping: NodeId, place: &str, known: &[&str]) -> Vec<(String, NodeId, NodeId)> {
        if self.is_nothing(mapping) {
            return Vec::new();
        }
        if self.tree.kind(self.tree.resolve(mapping)) != Kind::Mapping {
            let what = if place.is_empty() { "the configuration".to_owned() } else { format!("`{place}`") };
            self.invalid(mapping, &format!("{what} must be a mapping"), None);
            return Vec::new();
        }
        let (given, unknown): (Vec<_>, Vec<_>) =
            self.entries(mapping).into_iter().partition(|(key, ..)| known.contains(&&**key));
        for (key, node, _) in unknown {
            let dot = if place.is_empty() { "" } else { "." };
            let help = closest(&key, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"));
            self.invalid(node, &format!("the agent does not know `{place}{dot}{key}` and ignores it"), help);
        }
        given
    }

    /// The entries of a mapping, with those that merge keys bring.
    fn entries(&self, mapping: NodeId) -> Vec<(String, NodeId, NodeId)> {
        let mut found = Vec::new();
        self.collect(mapping, MOST_MERGES, &mut found);
        found
    }

    fn collect(&self, mapping: NodeId, depth: usize, found: &mut Vec<(String, NodeId, NodeId)>) {
        let mapping = self.tree.resolve(mapping);
        let mut merged = Vec::new();
        for (key, value) in self.tree.entries(mapping) {
            let Some(name) = self.tree.scalar(self.tree.resolve(key)).map(|name| name.into_owned()) else { continue };
            if name == "<<" {
                merged.push(self.tree.resolve(value));
            } else if !found.iter().any(|(known, ..)| *known == name) {
                found.push((name, key, value));
            }
        }
        for source in merged.into_iter().filter(|_| depth > 0) {
            match self.tree.kind(source) {
                Kind::Sequence => self.tree.items(source).for_each(|item| self.collect(item, depth - 1, found)),
                _ => self.collect(source, depth - 1, found),
            }
        }
    }

    fn is_blank(&self, node: NodeId) -> bool {
        self.is_nothing(node) || self.text(node).is_some_and(|text| text.is_empty())
    }

    fn is_nothing(&self, node: NodeId) -> bool {
        matches!(resolve(self.tree, self.tree.resolve(node)), Ok(Resolved::Null))
            && self.tree.kind(self.tree.resolve(node)) == Kind::Scalar
    }

    fn text(&self, node: NodeId) -> Option<String> {
        self.tree.scalar(self.tree.resolve(node)).map(|text| text.into_owned())
    }

    fn invalid(&mut self, node: NodeId, message: &str, help: Option<String>) {
        self.fault(Reason::AgentConfigInvalid, node, message, help);
    }

    fn fault(&mut self, reason: Reason, node: NodeId, message: &str, help: Option<String>) {
        let line = line_of(self.tree.text(), self.tree.span(node).start);
        self.faults.push(Fault { reason, line, message: message.to_owned(), help });
    }
}

#[cfg(test)]
mod tests {
    use super::{Sudo, check};

    fn faults(text: &str) -> Vec<String> {
        check(text, Sudo::Fails)
            .into_iter()
            .map(|fault| format!("{} {}: {}", fault.line, fault.reason.id(), fault.message))
            .collect()
    }

    #[test]
    fn what_the_agent_takes_is_not_complained_about() {
        let text = "\
roles: [shop:web]
displayName: web
ignoreContainer: ^proxy$
hostStatusOnStart: working
hostIdStore: memory
readinessProbe:
  http: {path: /, port: 8080, headers: [{name: a, value: b}]}
  initialDelaySeconds: 5
plugin:
  metrics:
    redis: {command: mackerel-plugin-redis, env: {A: b}, timeoutSeconds: 5}
  checks:
    log: {command: [check-log, -f, /x], memo: m}
";
        assert_eq!(faults(text), [""; 0]);
        assert_eq!(faults(""), [""; 0]);
        assert_eq!(faults("plugin:\n"), [""; 0]);
        assert_eq!(faults("apikey: ''\n---\nnot: [read\n"), [""; 0]);
        let merged = "plugin:\n  metrics:\n    a: &a {command: x}\n    b: {<<: *a, timeoutSeconds: 1}\n";
        assert_eq!(faults(merged), [""; 0]);
        let users = "plugin: {metrics: {a: {command: x, user: y}}}";
        assert_eq!((check(users, Sudo::Works).len(), check(users, Sudo::Fails).len()), (0, 1));
    }

    #[test]
    fn what_it_refuses_or_ignores_is_told_with_its_line() {
        let text = "\
apikey: abc
display_name: web
ignoreContainer: (?=a)
hostStatusOnStart: wokring
readinessProbe:
  tcp: {host: a}
  exec: {command: x}
  periodSeconds: -1
plugin:
  metrics:
    redis: {user: redis}
  checks:
    log: {command: x, env: {'A=B': c}}
";
        let seen = faults(text);
        for (line, part) in [
            (1, "plain-api-key"),
            (2, "does not know `display_name`"),
            (3, "no regular expression"),
            (4, "found `wokring`"),
            (6, "has no `port`"),
            (6, "only one may be there"),
            (8, "below 0"),
            (11, "has no `command`"),
            (11, "needs sudo"),
            (13, "holds a `=`"),
        ] {
            let found = seen.iter().any(|fault| fault.starts_with(&format!("{line} ")) && fault.contains(part));
            assert!(found, "{line} {part}: {seen:#?}");
        }
        assert_eq!(seen.len(), 10, "{seen:#?}");
        assert!(faults("a: [b")[0].contains("not valid YAML"));
        assert!(faults("- a\n")[0].contains("must be a mapping"));
        assert_eq!(faults("plugin: {checks: {log: x}}").len(), 1);
        for (text, part) in [
            ("roles: a:b", "must be a list"),
            ("roles: [web]", "names its service"),
            ("displayName: [x]", "must be text"),
            ("plugin: {checks: {log: {command: ''}}}", "has no `command`"),
        ] {
            assert!(faults(text)[0].contains(part), "{text}");
        }
    }
}
