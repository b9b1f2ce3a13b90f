//! Checks the agent's own configuration in a ConfigMap of the input: mistakes at which the agent exits, keys that it ignores
//! silently, and settings of the pod that the file overrides.

mod check;

use crate::agent::prerequisites::{KeyRef, ShadowedSetting};
use crate::checks::{AgentGroup, Objects, ProcessedText};
use crate::config::Config;
use crate::diagnostic::{LineCounter, LiteralLines};
use crate::inject::outcome::Remark;
use crate::manifest::related::{RelatedKind, Source};
use crate::report::Finding;
use check::{Fault, Pod, Sudo, check};
use std::collections::HashMap;
use yaml_json_patch::Style;

/// The keys of a ConfigMap that hold configuration, each with the agents that read it.
type Keys<'n> = HashMap<&'n str, Readers>;

/// The agents that read one configuration.
#[derive(Default)]
struct Readers {
    /// The settings of their pods that the configuration overrides.
    shadowed: Vec<ShadowedSetting>,
    /// True if one of them keeps the host's id in a file.
    host_id_in_file: bool,
}

pub(super) fn remarks(
    inputs: &[ProcessedText<'_>],
    agents: &[AgentGroup<'_>],
    objects: &Objects<'_>,
    config: &Config,
) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    let mut files: HashMap<(Option<&str>, &str), Keys<'_>> = HashMap::new();
    for AgentGroup {
        namespace, needs, ..
    } in agents
    {
        let Some(KeyRef {
            name,
            key: Some(key),
            ..
        }) = needs.agent_config.as_ref()
        else {
            continue;
        };
        let readers = files
            .entry((*namespace, name))
            .or_default()
            .entry(key)
            .or_default();
        for one in &needs.shadowed {
            if !readers.shadowed.contains(one) {
                readers.shadowed.push(*one);
            }
        }
        readers.host_id_in_file |= needs.host_id_in_file;
    }
    for object in objects.of(RelatedKind::Holds(Source::ConfigMap)) {
        let Some(keys) = files.get(&(object.namespace.as_deref(), &*object.name)) else {
            continue;
        };
        let around = inputs.get(object.input).map_or("", |input| input.text);
        for entry in &object.entries {
            let Some((readers, text)) = keys.get(&*entry.key).zip(entry.value.as_deref()) else {
                continue;
            };
            let Readers {
                shadowed,
                host_id_in_file,
            } = readers;
            let pod = Pod {
                sudo: Sudo::of(config),
                shadowed,
                host_id_in_file: *host_id_in_file,
            };
            let faults = check(text, &pod);
            let mut lines = LineCounter::new(text.as_bytes());
            let mut below = LiteralLines::new(around, entry.offset);
            for Fault {
                reason,
                offset,
                message,
                help,
            } in faults
            {
                let line = lines.position(offset).line;
                let (place, offset) = match entry.style {
                    Style::Literal => (String::new(), below.start_of_line(line)),
                    _ => (format!("line {line}: "), entry.offset),
                };
                let message = format!("{place}{message}");
                let help = help.or_else(|| Some(LAYOUT.to_owned()));
                let finding = Finding {
                    help,
                    ..Finding::new(reason, message, offset, &entry.pointer)
                };
                remarks.push(object.remark(finding));
            }
        }
    }
    remarks
}

/// The general advice.
const LAYOUT: &str = "see the configuration reference in the help of the agent";
