//! The agent's own configuration, where a ConfigMap of the input holds it: what the agent would refuse, which ends it, what
//! it would ignore without a word, and which settings of the pod it outranks.

mod check;
mod merge_keys;

use crate::agent::prerequisites::{KeyRef, ShadowedSetting};
use crate::checks::{Objects, Part};
use crate::config::Config;
use crate::diagnostic::LineCounter;
use crate::inject::outcome::Remark;
use crate::manifest::related::RelatedKind;
use crate::manifest::related::Source;
use crate::report::Finding;
use check::{Fault, Pod, Sudo, check};
use std::collections::HashMap;
use yaml_json_patch::Style;

/// The keys of a ConfigMap that agents read their configuration from, each with those agents.
type Keys<'n> = HashMap<&'n str, Readers>;

/// The agents that read one configuration.
#[derive(Default)]
struct Readers {
    /// What the configuration outranks in their pods.
    shadowed: Vec<ShadowedSetting>,
    /// One of them keeps the host's id in a file.
    host_id_in_file: bool,
}

pub(super) fn remarks(parts: &[Part<'_>], objects: &Objects<'_>, config: &Config) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    let mut files: HashMap<(Option<&str>, &str), Keys<'_>> = HashMap::new();
    for outcome in parts.iter().flat_map(|part| &part.injection.outcomes) {
        let Some(needs) = outcome.needs.as_ref() else { continue };
        let Some(KeyRef { name, key: Some(key), .. }) = needs.agent_config.as_ref() else { continue };
        let namespace = outcome.identity.namespace_or(config.spec.namespace.as_ref()).map(String::as_str);
        let readers = files.entry((namespace, name)).or_default().entry(key).or_default();
        for one in &needs.shadowed {
            if !readers.shadowed.contains(one) {
                readers.shadowed.push(*one);
            }
        }
        readers.host_id_in_file |= needs.host_id_in_file;
    }
    for object in objects.of(RelatedKind::Holds(Source::ConfigMap)) {
        let Some(keys) = files.get(&(object.namespace.as_deref(), &*object.identity.name)) else { continue };
        let around = parts.get(object.part).map_or("", |part| part.text);
        for entry in &object.entries {
            let Some((readers, text)) = keys.get(&*entry.key).zip(entry.value.as_deref()) else { continue };
            let Readers { shadowed, host_id_in_file } = readers;
            let pod = Pod { sudo: Sudo::of(config), shadowed, host_id_in_file: *host_id_in_file };
            let faults = check(text, &pod);
            let mut lines = LineCounter::new(text.as_bytes());
            let mut below = Below::new(around, entry.offset);
            for Fault { reason, offset, message, help } in faults {
                let line = lines.position(offset).line;
                let (place, offset) = match entry.style {
                    Style::Literal => (String::new(), below.start_of_line(line)),
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

/// The lines of a literal block scalar, each of which is a line of the text around it; asked for from the first to the last.
struct Below<'t> {
    text: &'t str,
    /// Where the line stands that was asked for last: none of them yet, but the one with the scalar's `|`.
    start: usize,
    line: usize,
}

impl<'t> Below<'t> {
    fn new(text: &'t str, header: usize) -> Self {
        Self { text, start: header, line: 0 }
    }

    /// Where a line's first character stands; a line beyond the text counts as its last.
    fn start_of_line(&mut self, line: usize) -> usize {
        let rest = |start: usize| self.text.get(start..).unwrap_or_default();
        while self.line < line {
            let Some(newline) = memchr::memchr(b'\n', rest(self.start).as_bytes()) else { break };
            self.start += newline + 1;
            self.line += 1;
        }
        let rest = rest(self.start);
        self.start + (rest.len() - rest.trim_start_matches(' ').len())
    }
}
