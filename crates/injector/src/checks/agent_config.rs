//! Checks the agent's own configuration in a ConfigMap of the input: is it a mapping, without the API key and unknown keys?

use crate::checks::objects::DataEntry;
use crate::checks::{AgentGroup, Objects};
use crate::inject::outcome::Remark;
use manifest::{RelatedKind, Source};
use report::{Finding, Reason, closest};
use std::collections::HashSet;
use yaml_json_patch::{self as yaml, Kind};

/// The keys of the file, from the help page and the behaviour of version 0.13.2. The agent ignores others.
const KEYS: [&str; 11] = [
    "apibase",
    API_KEY,
    "root",
    "roles",
    "displayName",
    "memo",
    "hostStatusOnStart",
    "hostIdStore",
    "ignoreContainer",
    "readinessProbe",
    "plugin",
];
const API_KEY: &str = "apikey";

pub(super) fn remarks(agents: &[AgentGroup<'_>], objects: &Objects<'_>) -> Vec<(usize, Remark)> {
    let mut files = HashSet::new();
    for agent in agents {
        if let Some(file) = &agent.needs.agent_config
            && let Some(key) = &file.key
        {
            files.insert((agent.namespace, &*file.name, &**key));
        }
    }
    let mut remarks = Vec::new();
    for object in objects.of(RelatedKind::Holds(Source::ConfigMap)) {
        for entry in &object.entries {
            if files.contains(&(object.namespace.as_deref(), &*object.name, &*entry.key)) {
                for finding in findings(entry) {
                    remarks.push(object.remark(finding));
                }
            }
        }
    }
    remarks
}

/// Returns the mistakes of one file, in order of its text.
fn findings(entry: &DataEntry) -> Vec<Finding> {
    let text = entry.value.as_deref().unwrap_or_default();
    let finding =
        |reason, message: String| Finding::new(reason, message, entry.offset, &entry.pointer);
    // The agent reads the first document and no further.
    let first = yaml::documents(text)
        .next()
        .and_then(|document| text.get(document.span))
        .unwrap_or_default();
    let tree = yaml::read(first);
    let root = match &tree {
        Ok(tree) => match tree.root() {
            Some(root) if tree.kind(root) == Kind::Mapping => Some((tree, root)),
            Some(root) if !tree.raw(root).is_empty() => None,
            _ => return Vec::new(),
        },
        Err(_) => None,
    };
    let Some((tree, root)) = root else {
        let message = "the configuration of the agent is not a YAML mapping; the agent exits";
        let help = if is_toml(text) {
            "this is TOML, the format of mackerel-agent; write `key: value`"
        } else {
            "see the configuration reference in the help of the agent"
        };
        return vec![finding(Reason::AgentConfigInvalid, message.to_owned()).with_help(help)];
    };
    let mut findings = Vec::new();
    for (key, value) in tree.entries(root) {
        let Some(key) = tree.scalar(key) else {
            continue;
        };
        if key == API_KEY && !tree.scalar(value).unwrap_or_default().is_empty() {
            let message = "the API key is in the ConfigMap as plain text".to_owned();
            let help = "remove it; the agent reads the key from the Secret of `apiKey`";
            findings.push(finding(Reason::PlainApiKey, message).with_help(help));
        }
        if key != "<<" && !KEYS.contains(&&*key) {
            let message =
                format!("unknown key `{key}` of the agent's configuration; the agent ignores it");
            let mut unknown = finding(Reason::AgentConfigInvalid, message);
            if let Some(meant) = closest(&key, KEYS) {
                unknown = unknown.with_help(format!("did you mean `{meant}`?"));
            }
            findings.push(unknown);
        }
    }
    findings
}

/// Returns true for a text whose first line with content is a table or an assignment of TOML: `[plugin.metrics.x]`, `apikey = "…"`.
fn is_toml(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .is_some_and(|line| match line.split_once('=') {
            Some((key, _)) => !key.contains([':', '{']),
            None => line.starts_with('[') && line.ends_with(']'),
        })
}

#[cfg(test)]
mod tests {
    use super::{DataEntry, findings};

    #[test]
    fn a_file_is_a_mapping_of_known_keys_without_the_api_key() {
        for (text, expected) in [
            ("", &[][..]),
            ("# nothing yet\n", &[]),
            ("roles: [shop:web]\n", &[]),
            ("<<: {memo: a}\nplugin:\n", &[]),
            ("apikey: ''\n---\nnot: [read\n", &[]),
            (
                "apikey: abc\n",
                &[
                    "plain-api-key: the API key is in the ConfigMap as plain text (remove it; the agent reads the key from the Secret of `apiKey`)",
                ],
            ),
            (
                "display_name: web\nx: 1\n",
                &[
                    "agent-config-invalid: unknown key `display_name` of the agent's configuration; the agent ignores it (did you mean `displayName`?)",
                    "agent-config-invalid: unknown key `x` of the agent's configuration; the agent ignores it",
                ],
            ),
            ("- a\n", &[NO_MAPPING]),
            ("a: [b", &[NO_MAPPING]),
            ("apikey = \"abc\"\n", &[TOML]),
            (
                "\n# mackerel\n[plugin.metrics.redis]\ncommand = \"x\"\n",
                &[TOML],
            ),
        ] {
            let entry = DataEntry {
                key: "mackerel-agent.conf".to_owned(),
                value: Some(text.to_owned()),
                offset: 0,
                pointer: String::new(),
            };
            let seen = findings(&entry).into_iter().map(|finding| {
                let help = finding.help.map(|help| format!(" ({help})"));
                format!(
                    "{}: {}{}",
                    finding.reason.id(),
                    finding.message,
                    help.unwrap_or_default()
                )
            });
            assert_eq!(seen.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    const NO_MAPPING: &str = "agent-config-invalid: the configuration of the agent is not a YAML mapping; the agent exits (see the configuration reference in the help of the agent)";
    const TOML: &str = "agent-config-invalid: the configuration of the agent is not a YAML mapping; the agent exits (this is TOML, the format of mackerel-agent; write `key: value`)";
}
