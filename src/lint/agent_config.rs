//! The agent's own configuration, where a ConfigMap of the input holds it: what the agent would refuse, which ends it, what
//! it would ignore without a word, and which settings of the pod it outranks.

mod check;
mod fields;

use crate::config::Config;
use crate::needs::{Need, Outranked, Source};
use crate::report::{Finding, Remark};
use crate::surroundings::{Objects, Part, Surrounding};
use crate::yaml::Style;
use check::{Fault, Pod, Sudo, check};
use std::collections::HashMap;

/// The keys of a ConfigMap that agents read their configuration from, each with what it outranks in their pods.
type Keys<'n> = HashMap<&'n str, Vec<Outranked>>;

pub(super) fn remarks(parts: &[Part<'_>], objects: &Objects<'_>, config: &Config) -> Vec<(usize, Remark)> {
    let mut remarks = Vec::new();
    let mut files: HashMap<(Option<&str>, &str), Keys<'_>> = HashMap::new();
    for outcome in parts.iter().flat_map(|part| &part.injection.outcomes) {
        let Some(needs) = outcome.needs.as_ref() else { continue };
        let Some(Need { name, key: Some(key), .. }) = needs.agent_config.as_ref() else { continue };
        let namespace = outcome.identity.namespace_in(config).map(String::as_str);
        let outranked = files.entry((namespace, name)).or_default().entry(key).or_default();
        for one in &needs.outranked {
            if !outranked.contains(one) {
                outranked.push(*one);
            }
        }
    }
    for object in objects.of(Surrounding::Holds(Source::ConfigMap)) {
        let Some(keys) = files.get(&(object.namespace.as_deref(), &*object.identity.name)) else { continue };
        let around = parts.get(object.part).map_or("", |part| part.text);
        for entry in &object.entries {
            let Some((outranked, text)) = keys.get(&*entry.key).zip(entry.value.as_deref()) else { continue };
            let faults = check(text, &Pod { sudo: Sudo::of(config), outranked });
            let lines = faults.iter().map(|fault| fault.line).max().unwrap_or_default();
            let below = memchr::memchr_iter(b'\n', around.as_bytes().get(entry.offset..).unwrap_or_default());
            let newlines: Vec<usize> = below.take(lines).map(|newline| entry.offset + newline).collect();
            for Fault { reason, line, message, help } in faults {
                let (place, offset) = match entry.style {
                    Style::Literal => (String::new(), start_of_line(around, &newlines, entry.offset, line)),
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

/// Each line of a literal block scalar is a line of the text around it; `header` is where its `|` stands, and `newlines`
/// those below it.
fn start_of_line(text: &str, newlines: &[usize], header: usize, line: usize) -> usize {
    let newline = newlines.get(line.saturating_sub(1)).or(newlines.last());
    let start = newline.map_or(header, |newline| newline + 1);
    let rest = text.get(start..).unwrap_or_default();
    start + (rest.len() - rest.trim_start_matches(' ').len())
}
