//! Looks at one configuration file as the agent would read it.

mod values;

use crate::agent::prerequisites::ShadowedSetting;
use crate::config::{AgentSettings, Config, Constraint, SettingRow, Shape, rows};
use crate::diagnostic::closest::closest;
use crate::mackerel::config_file::{FILE_ONLY, Fields, HEADER, PLUGIN, PROBE, ValueForm};
use crate::mackerel::names::Volume;
use crate::report::Reason;
use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;
use yaml_json_patch::{self as yaml, Kind, NodeId, Tree};

/// The use of sudo by plugins of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sudo {
    Works,
    Fails,
}

impl Sudo {
    pub(super) fn of(config: &Config) -> Self {
        let context = &config.spec.agent.security_context;
        let is_root =
            context.run_as_user.unwrap_or_default() == 0 && context.run_as_non_root != Some(true);
        let may_change =
            context.allow_privilege_escalation != Some(false) && context.capabilities.is_none();
        if is_root && may_change {
            Sudo::Works
        } else {
            Sudo::Fails
        }
    }
}

/// The pod that reads the file.
#[derive(Debug)]
pub(super) struct Pod<'o> {
    pub(super) sudo: Sudo,
    /// Settings that the file outranks.
    pub(super) shadowed: &'o [ShadowedSetting],
    /// The pod's settings let the agent keep the host's id in a file.
    pub(super) host_id_in_file: bool,
}

/// One thing that is wrong with a configuration of the agent.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) reason: Reason,
    /// Its byte offset in the configuration.
    pub(super) offset: usize,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Returns the mistakes of a configuration, in order of the text.
pub(super) fn check(text: &str, pod: &Pod<'_>) -> Vec<Fault> {
    // The agent reads the first document and no further.
    let first = yaml_json_patch::documents(text)
        .next()
        .and_then(|document| text.get(document.span))
        .unwrap_or_default();
    match yaml::read(first) {
        Ok(tree) => {
            let mut check = Check {
                tree: &tree,
                pod,
                faults: Vec::new(),
            };
            if let Some(root) = tree.root().filter(|root| !check.is_nothing(*root)) {
                check.root(root);
            }
            // Some are seen only when all of a mapping has been looked at.
            check.faults.sort_by_key(|fault| fault.offset);
            check.faults
        }
        Err(error) => {
            let message = format!(
                "not valid YAML, so the agent does not start: {}",
                error.message
            );
            vec![Fault {
                reason: Reason::AgentConfigInvalid,
                offset: error.offset,
                message,
                help: None,
            }]
        }
    }
}

/// Returns the keys of the file, beginning with those that outrank settings.
fn root_fields() -> Fields {
    static ROOT: LazyLock<Vec<(&str, ValueForm)>> = LazyLock::new(|| {
        let of_settings = rows().iter().filter_map(|row| Some((row.file?, form(row))));
        of_settings.chain(FILE_ONLY.iter().copied()).collect()
    });
    &ROOT
}

/// Returns the form of a key that outranks a setting.
fn form(setting: &SettingRow) -> ValueForm {
    match (setting.shape, setting.words()) {
        (Shape::List(_), _) => ValueForm::Roles,
        _ if setting.check == Some(Constraint::GoRegexp) => ValueForm::Pattern,
        (_, []) => ValueForm::Text,
        (_, words) => ValueForm::OneOf(words),
    }
}

/// One entry of a mapping: name, key and value.
type Entry = (String, NodeId, NodeId);

struct Check<'a, 't> {
    tree: &'a Tree<'t>,
    pod: &'a Pod<'a>,
    faults: Vec<Fault>,
}

impl Check<'_, '_> {
    fn root(&mut self, root: NodeId) {
        let mut given = self.mapping(root, "", root_fields());
        given.retain(|(.., value)| !self.is_blank(*value));
        self.folder_of_the_host_id(root);
        for (key, node, _) in given {
            for ShadowedSetting { setting, in_file } in self.pod.shadowed {
                if *in_file == key {
                    let message = format!("`{key}` overrides `{setting}`");
                    self.invalid(node, &message, Some("remove one of them".to_owned()));
                }
            }
        }
    }

    /// Checks `root`, below which the agent writes the host's id: all but /var/tmp is read-only or lost at the next restart.
    fn folder_of_the_host_id(&mut self, root: NodeId) {
        let is_kept = match self.member(root, "hostIdStore") {
            Some(store) => self.is_word(store, "file"),
            None => self.pod.host_id_in_file,
        };
        let Some(folder) = self.member(root, "root") else {
            return;
        };
        let Some(path) = self.text(folder) else {
            return;
        };
        let tmp = Volume::Tmp.folder();
        let is_below_tmp =
            Path::new(&path).starts_with(tmp) && !path.split('/').any(|part| part == "..");
        if is_kept && !is_below_tmp {
            let message =
                format!("`root` is outside {tmp}, but the agent can store the host ID only there");
            let help = format!(
                "use a directory below {tmp}, or set `{}` to `memory`",
                AgentSettings::host_id_store()
            );
            self.invalid(folder, &message, Some(help));
        }
    }

    /// Checks a value; `place` is its path, `node` its key.
    fn value(&mut self, form: ValueForm, place: &str, node: NodeId, value: NodeId) {
        match form {
            ValueForm::Text => self.is_text(place, value),
            ValueForm::ApiKey if self.is_blank(value) => {}
            ValueForm::ApiKey => {
                let message = "the API key is in the ConfigMap as plain text";
                let help = "remove it; the agent reads the key from the Secret of `apiKey`";
                self.fault(Reason::PlainApiKey, node, message, Some(help.into()));
            }
            ValueForm::Pattern => self.pattern(place, node, value),
            ValueForm::OneOf(words) => self.one_of(place, value, words),
            ValueForm::Roles => self.roles(value),
            ValueForm::Whole(least) => self.whole(place, value, least),
            ValueForm::Port => self.port(place, value),
            ValueForm::Command => self.command(place, value),
            ValueForm::User => self.user(place, node, value),
            ValueForm::Variables => self.variables(place, value),
            ValueForm::Headers => {
                for (index, header) in self.list(place, value).into_iter().enumerate() {
                    self.mapping(header, &format!("{place}[{index}]"), HEADER);
                }
            }
            ValueForm::Probe => self.probe(value),
            ValueForm::Way(fields, needed) => {
                self.mapping(value, place, fields);
                self.needs(place, value, value, needed);
            }
            ValueForm::Plugins => {
                self.mapping(value, place, PLUGIN);
            }
            ValueForm::Named(fields) => self.named(place, value, fields),
        }
    }

    /// Returns the entries of a mapping whose keys are known and that have a value: without one the agent takes its default.
    /// Reports unknown keys, which the agent ignores.
    fn mapping(&mut self, mapping: NodeId, place: &str, fields: Fields) -> Vec<Entry> {
        let mut given = Vec::new();
        for (key, node, value) in self.entries(mapping, place) {
            let at = if place.is_empty() {
                key.clone()
            } else {
                format!("{place}.{key}")
            };
            let Some((_, form)) = fields.iter().find(|(known, _)| *known == key) else {
                let meant = closest(&key, fields.iter().map(|(known, _)| *known));
                let help = meant.map(|meant| format!("did you mean `{meant}`?"));
                self.invalid(
                    node,
                    &format!("unknown field `{at}`; the agent ignores it"),
                    help,
                );
                continue;
            };
            if !self.is_nothing(value) {
                self.value(*form, &at, node, value);
                given.push((key, node, value));
            }
        }
        given
    }

    fn needs(&mut self, place: &str, node: NodeId, mapping: NodeId, needed: &str) {
        if self.member(mapping, needed).is_none() {
            let message = format!("`{place}` has no `{needed}`; the agent exits");
            self.invalid(node, &message, None);
        }
    }

    /// Returns a member of a mapping, also of one that it merges, unless its value is blank.
    fn member(&self, mapping: NodeId, key: &str) -> Option<NodeId> {
        let value = self.tree.member(mapping, key)?;
        (!self.is_blank(value)).then_some(value)
    }

    fn probe(&mut self, probe: NodeId) {
        self.mapping(probe, "readinessProbe", PROBE);
        let mut ways = Vec::new();
        for (name, form) in PROBE {
            // A merge key (`<<`) may bring one.
            if matches!(form, ValueForm::Way(..))
                && let Some(way) = self.tree.member(probe, name)
                && !self.is_nothing(way)
            {
                ways.push(*name);
            }
        }
        match ways.as_slice() {
            [_] => {}
            [] if self.tree.kind(self.tree.alias_target(probe)) != Kind::Mapping => {}
            [] => self.invalid(
                probe,
                "`readinessProbe` has none of `exec`, `http` and `tcp`; the agent exits",
                None,
            ),
            several => {
                let several = several.join("` and `");
                let message = format!(
                    "`readinessProbe` has `{several}`, but only one is allowed; the agent exits"
                );
                self.invalid(probe, &message, Some("remove one of them".to_owned()));
            }
        }
    }

    fn named(&mut self, place: &str, plugins: NodeId, fields: Fields) {
        for (name, node, plugin) in self.entries(plugins, place) {
            let place = format!("{place}.{name}");
            let is_wrong = !self.is_nothing(plugin)
                && self.tree.kind(self.tree.alias_target(plugin)) != Kind::Mapping;
            if !self.is_nothing(plugin) {
                self.mapping(plugin, &place, fields);
            }
            if !is_wrong {
                self.needs(&place, node, plugin, "command");
            }
        }
    }

    /// The entries of a mapping, without those that it merges.
    fn entries(&mut self, mapping: NodeId, place: &str) -> Vec<Entry> {
        if self.tree.kind(self.tree.alias_target(mapping)) != Kind::Mapping {
            self.must_be(place, mapping, "a mapping");
            return Vec::new();
        }
        let mut names = HashSet::new();
        let mut entries = Vec::new();
        for (key, value) in self.tree.entries(self.tree.alias_target(mapping)) {
            let Some(name) = self.text(key) else { continue };
            if !names.insert(name.clone()) {
                self.invalid(
                    key,
                    &format!("duplicate key `{name}`; the agent exits"),
                    None,
                );
            } else if name != "<<" {
                entries.push((name, key, value));
            }
        }
        entries
    }

    fn list(&mut self, place: &str, list: NodeId) -> Vec<NodeId> {
        let items = self.tree.alias_target(list);
        if self.tree.kind(items) == Kind::Sequence {
            return self.tree.items(items).collect();
        }
        self.must_be(place, list, "a list");
        Vec::new()
    }

    /// Reports a value that cannot be read into the type that it must have.
    fn must_be(&mut self, place: &str, node: NodeId, what: &str) {
        let place = if place.is_empty() {
            "the configuration".to_owned()
        } else {
            format!("`{place}`")
        };
        let found = match self.tree.kind(self.tree.alias_target(node)) {
            Kind::Mapping => "a mapping".to_owned(),
            Kind::Sequence => "a list".to_owned(),
            Kind::Scalar | Kind::Alias => format!("`{}`", self.tree.raw(node)),
        };
        self.invalid(
            node,
            &format!("{place} must be {what}, found {found}; the agent exits"),
            None,
        );
    }

    fn invalid(&mut self, node: NodeId, message: &str, help: Option<String>) {
        self.fault(Reason::AgentConfigInvalid, node, message, help);
    }

    fn fault(&mut self, reason: Reason, node: NodeId, message: &str, help: Option<String>) {
        let offset = self.tree.place(node).start;
        self.faults.push(Fault {
            reason,
            offset,
            message: message.to_owned(),
            help,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentSettings, Pod, ShadowedSetting, Sudo, check};
    use crate::diagnostic::LineCounter;

    fn faults(text: &str) -> Vec<String> {
        let shadowed = [ShadowedSetting {
            in_file: "memo",
            setting: AgentSettings::memo(),
        }];
        let mut lines = LineCounter::new(text.as_bytes());
        let mut line = |offset| lines.position(offset).line;
        check(
            text,
            &Pod {
                sudo: Sudo::Fails,
                shadowed: &shadowed,
                host_id_in_file: true,
            },
        )
        .into_iter()
        .map(|fault| {
            format!(
                "{} {}: {}",
                line(fault.offset),
                fault.reason.id(),
                fault.message
            )
        })
        .collect()
    }

    #[test]
    fn what_the_agent_takes_is_not_complained_about() {
        let text = "\
roles: [shop:web]
displayName: 1
ignoreContainer: ^(proxy|mackerel-container-agent)$
hostStatusOnStart: working
hostIdStore: memory
readinessProbe:
  http: {path: /, port: 8080, headers: [{name: a, value: 1}]}
  tcp:
  initialDelaySeconds: 5
  periodSeconds: 1.5
plugin:
  metrics:
    redis: {command: mackerel-plugin-redis, env: {A: b, C: 1}, timeoutSeconds: 5}
  checks:
    log: {command: [check-log, -f, /x, 1], memo: m}
";
        for text in [
            text,
            "",
            "plugin:\n",
            "readinessProbe:\nplugin: {metrics: }\n",
            "apikey: ''\nmemo: ''\nroles: []\n---\nnot: [read\n",
            "plugin:\n  metrics:\n    a: &a {command: x}\n    b: {<<: *a, timeoutSeconds: 1}\n",
            "readinessProbe: {tcp: {port: http}}",
            "root: /var/tmp/agent",
            "root: /data\nhostIdStore: memory",
            "plugin: {checks: {a: &a {command: x}}}\nreadinessProbe: {<<: {exec: *a}, periodSeconds: 1}",
            "<<: {hostIdStore: memory}\nroot: /data",
        ] {
            assert_eq!(faults(text), [""; 0], "{text}");
        }
        let users = "plugin: {metrics: {a: {command: x, user: y}}}";
        let with = |sudo| {
            check(
                users,
                &Pod {
                    sudo,
                    shadowed: &[],
                    host_id_in_file: true,
                },
            )
            .len()
        };
        assert_eq!((with(Sudo::Works), with(Sudo::Fails)), (0, 1));
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
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
        let expected = [
            (1, "plain-api-key"),
            (2, "unknown field `display_name`"),
            (3, "not a valid Go regular expression"),
            (4, "found `wokring`"),
            (6, "`exec` and `tcp`, but only one"),
            (6, "has no `port`"),
            (8, "below 0"),
            (11, "has no `command`"),
            (11, "needs sudo"),
            (13, "contains `=`"),
        ];
        assert_eq!(seen.len(), expected.len(), "{seen:#?}");
        for ((line, part), fault) in expected.into_iter().zip(&seen) {
            assert!(
                fault.starts_with(&format!("{line} ")) && fault.contains(part),
                "{line} {part}: {seen:#?}"
            );
        }
    }

    #[test]
    fn each_mistake_is_reported_once() {
        for (text, part) in [
            ("a: [b", "not valid YAML"),
            ("- a\n", "the configuration must be a mapping, found a list"),
            (
                "plugin: {checks: {log: x}}",
                "`plugin.checks.log` must be a mapping, found `x`",
            ),
            (
                "plugin: {checks: {log: }}",
                "`plugin.checks.log` has no `command`",
            ),
            ("plugin: {checks: {log: {command: ''}}}", "has no `command`"),
            ("plugin: {checks: {log: {command: []}}}", "has no `command`"),
            (
                "plugin: {checks: {log: {command: {a: b}}}}",
                "must be text or a list of words, found a mapping",
            ),
            (
                "plugin: {checks: {log: {command: a, env: [b]}}}",
                "`plugin.checks.log.env` must be a mapping, found a list",
            ),
            (
                "plugin: {checks: {log: {command: a, env: {b: [c]}}}}",
                "`plugin.checks.log.env.b` must be text",
            ),
            (
                "plugin: {metrics: {a: {command: b, timeoutSeconds: '5'}}}",
                "must be a whole number, found `'5'`",
            ),
            (
                "plugin: {metrics: {a: {command: b, timeoutSeconds: 5s}}}",
                "must be a whole number, found `5s`",
            ),
            (
                "plugin: {metrics: {a: {command: b, command: c}}}",
                "duplicate key `command`",
            ),
            (
                "plugin: {metric: {a: {command: b}}}",
                "unknown field `plugin.metric`",
            ),
            ("plugin: [a]", "`plugin` must be a mapping, found a list"),
            ("roles: a:b", "`roles` must be a list, found `a:b`"),
            ("roles: [web]", "`roles[0]` must be a role, found `web`"),
            (
                "roles: ['shop:web', 'shop.jp:web']",
                "`roles[1]` must be a role, found `shop.jp:web`",
            ),
            ("roles: [[shop]]", "`roles[0]` must be a role, found a list"),
            (
                "displayName: [x]",
                "`displayName` must be text, found a list",
            ),
            ("hostStatusOnStart: ''", "must be one of"),
            ("hostIdStore: disk", "must be one of"),
            ("root: /data", "`root` is outside /var/tmp"),
            (
                "root: /var/tmp/../lib\nhostIdStore: file",
                "`root` is outside /var/tmp",
            ),
            ("ignoreContainer: ''", "matches every container"),
            (
                "ignoreContainer: ^proxy$",
                "replaces the pattern of the injector",
            ),
            ("memo: shop", "`memo` overrides `agent.memo`"),
            ("readinessProbe: {}", "has none of"),
            ("readinessProbe: x", "must be a mapping"),
            (
                "readinessProbe: {tcp: {port: [1]}}",
                "`readinessProbe.tcp.port` must be a port, found a list",
            ),
            (
                "readinessProbe: {tcp: {port: 80800}}",
                "must be a port from 1 to 65535, found `80800`",
            ),
            (
                "readinessProbe: {exec: {command: a, user: b}}",
                "`readinessProbe.exec.user` needs sudo",
            ),
            (
                "readinessProbe: {tcp: {port: 1}, periodSeconds: yes}",
                "must be a whole number, found `yes`",
            ),
            (
                "readinessProbe: {http: {path: /, headers: {a: b}}}",
                "`readinessProbe.http.headers` must be a list",
            ),
            (
                "readinessProbe: {http: {path: /, headers: [{nam: b}]}}",
                "unknown field `readinessProbe.http.headers[0].nam`",
            ),
        ] {
            let seen = faults(text);
            assert!(
                seen.len() == 1 && seen[0].contains(part),
                "{text}: {seen:#?}"
            );
        }
    }
}
