//! The text of a generated manifest: JSON, or YAML with block and flow collections, comments, anchors and blank lines.

use super::{Tape, Yaml};
use std::fmt::Write as _;

/// Appends a node in JSON.
pub(super) fn json(node: &Yaml, pretty: bool, depth: usize, out: &mut String) {
    let line = |out: &mut String, depth: usize| {
        if pretty {
            let _ = write!(out, "\n{:1$}", "", 2 * depth);
        }
    };
    let (open, close, count) = match node {
        Yaml::Map(entries) => ('{', '}', entries.len()),
        Yaml::Seq(items) => ('[', ']', items.len()),
        Yaml::Text(text) => return out.push_str(&format!("{text:?}")),
        Yaml::Raw(text) => {
            let bare = text.trim_matches(['"', '\'']);
            let spelled = match *text {
                "true" | "1" => (*text).to_owned(),
                "false" => "false".to_owned(),
                _ => format!("{bare:?}"),
            };
            return out.push_str(&spelled);
        }
        Yaml::Block(_, lines) => return out.push_str(&format!("{:?}", lines.join("\n"))),
        Yaml::Null => return out.push_str("null"),
    };
    out.push(open);
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        line(out, depth + 1);
        match node {
            Yaml::Map(entries) => {
                let _ = write!(
                    out,
                    "{:?}:{}",
                    entries[index].0,
                    if pretty { " " } else { "" }
                );
                json(&entries[index].1, pretty, depth + 1, out);
            }
            Yaml::Seq(items) => json(&items[index], pretty, depth + 1, out),
            _ => {}
        }
    }
    if count > 0 {
        line(out, depth);
    }
    out.push(close);
}

/// Returns the text of a node in YAML, in a layout that the tape chooses.
pub(super) fn yaml(node: &Yaml, tape: &mut Tape<'_>) -> String {
    let mut writer = ManifestWriter {
        tape,
        out: String::new(),
        anchors: 0,
    };
    writer.block(node, 0);
    writer.out
}

struct ManifestWriter<'t, 'b> {
    tape: &'t mut Tape<'b>,
    out: String,
    anchors: usize,
}

impl ManifestWriter<'_, '_> {
    /// A collection in block style, beginning where a line begins.
    fn block(&mut self, node: &Yaml, indent: usize) {
        match node {
            Yaml::Map(entries) => {
                for (key, value) in entries {
                    self.between(indent);
                    let _ = write!(self.out, "{:indent$}", "");
                    self.entry(key, value, indent);
                }
            }
            Yaml::Seq(items) => {
                for item in items {
                    self.between(indent);
                    let _ = write!(self.out, "{:indent$}-", "");
                    self.item(item, indent);
                }
            }
            _ => {}
        }
    }

    /// Blank lines and comments of their own.
    fn between(&mut self, indent: usize) {
        match self.tape.pick(16) {
            11 => self.out.push('\n'),
            12 => {
                let _ = writeln!(self.out, "{:indent$}# before", "");
            }
            13 => self.out.push_str("# at the very left: [{\n"),
            14 => {
                let _ = writeln!(self.out, "{:1$}# deeper # \"", "", indent + 5);
            }
            15 => self.out.push_str("   \n"),
            _ => {}
        }
    }

    fn end(&mut self) {
        let end = match self.tape.pick(12) {
            9 => "  # コメント",
            10 => " # c: d",
            11 => "  ",
            _ => "",
        };
        self.out.push_str(end);
        self.out.push('\n');
    }

    fn entry(&mut self, key: &str, value: &Yaml, indent: usize) {
        match self.tape.pick(12) {
            9 => {
                let _ = write!(self.out, "\"{key}\":");
            }
            10 => {
                let _ = write!(self.out, "'{key}':");
            }
            11 => {
                let _ = write!(self.out, "{key} :");
            }
            _ => {
                let _ = write!(self.out, "{key}:");
            }
        }
        self.value(value, indent, true);
    }

    fn item(&mut self, item: &Yaml, indent: usize) {
        let gap = self.tape.one_of(&[1, 1, 1, 3]);
        match item {
            Yaml::Map(entries) if !entries.is_empty() && !self.tape.seldom(9) => {
                if self.tape.seldom(8) {
                    self.end();
                    self.block(item, indent + 2);
                    return;
                }
                let _ = write!(self.out, "{:gap$}", "");
                let inner = indent + 1 + gap;
                let mut entries = entries.iter();
                if let Some((key, value)) = entries.next() {
                    self.entry(key, value, inner);
                }
                let rest: Vec<_> = entries.cloned().collect();
                self.block(&Yaml::Map(rest), inner);
            }
            _ => self.value(item, indent, false),
        }
    }

    /// Writes the text behind a colon or a dash, to the end of its last line.
    fn value(&mut self, node: &Yaml, indent: usize, behind_key: bool) {
        let empty = matches!(node, Yaml::Map(entries) if entries.is_empty())
            || matches!(node, Yaml::Seq(items) if items.is_empty());
        if !matches!(node, Yaml::Null) && self.tape.seldom(24) {
            self.anchors += 1;
            let _ = write!(self.out, " &a{}", self.anchors);
        }
        match node {
            Yaml::Null => {
                let spelled = self.tape.one_of(&["", " null", " ~"]);
                self.out.push_str(spelled);
                self.end();
            }
            Yaml::Text(text) | Yaml::Raw(text) => {
                let _ = write!(self.out, " {text}");
                self.end();
            }
            Yaml::Block(header, lines) => {
                let _ = writeln!(self.out, " {header}");
                for line in *lines {
                    if line.is_empty() {
                        self.out.push('\n');
                    } else {
                        let _ = writeln!(self.out, "{:1$}{line}", "", indent + 2);
                    }
                }
            }
            _ if empty || self.tape.seldom(10) => {
                self.out.push(' ');
                let wide = self.tape.seldom(3);
                self.flow(node, indent + 2, wide);
                self.end();
            }
            Yaml::Map(_) => {
                self.end();
                let step = self.tape.one_of(&[2, 2, 2, 4, 1]);
                self.block(node, indent + step);
            }
            Yaml::Seq(_) => {
                self.end();
                let step = if behind_key {
                    self.tape.one_of(&[2, 0, 0, 4])
                } else {
                    2
                };
                self.block(node, indent + step);
            }
        }
    }

    fn flow(&mut self, node: &Yaml, indent: usize, wide: bool) {
        let (open, close, count) = match node {
            Yaml::Map(entries) => ('{', '}', entries.len()),
            Yaml::Seq(items) => ('[', ']', items.len()),
            _ => return json(node, false, 0, &mut self.out),
        };
        self.out.push(open);
        let padding = self.tape.one_of(&["", " "]);
        self.out.push_str(padding);
        for index in 0..count {
            if index > 0 {
                self.out.push_str(if wide { "," } else { ", " });
            }
            if wide {
                let comment = self.tape.one_of(&["", "", " # , ]"]);
                let _ = write!(self.out, "{comment}\n{:indent$}", "");
            }
            match node {
                Yaml::Map(entries) => {
                    let (key, value) = &entries[index];
                    let quoted = self.tape.seldom(3);
                    let _ = if quoted {
                        write!(self.out, "\"{key}\": ")
                    } else {
                        write!(self.out, "{key}: ")
                    };
                    self.flow(value, indent + 2, wide);
                }
                Yaml::Seq(items) => self.flow(&items[index], indent + 2, wide),
                _ => {}
            }
        }
        if wide && count > 0 {
            let comma = self.tape.one_of(&["", ","]);
            let _ = write!(self.out, "{comma}\n{:1$}", "", indent - 2);
        } else {
            self.out.push_str(padding);
        }
        self.out.push(close);
    }
}
