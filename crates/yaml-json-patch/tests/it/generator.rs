//! Random YAML in random layout, written from a tape of choices. A shorter tape, or smaller numbers on it, give simpler
//! text, so that proptest's shrinking works.

pub(crate) struct ChoiceTape<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl<'b> ChoiceTape<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
        }
    }

    /// A number below `bound`; 0 when the tape is at its end.
    pub(crate) fn pick(&mut self, bound: usize) -> usize {
        let high = if bound > 256 { self.byte() } else { 0 };
        (256 * high + self.byte()) % bound
    }

    fn byte(&mut self) -> usize {
        self.bytes.next().map_or(0, |byte| usize::from(*byte))
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.pick(one_in) == one_in - 1
    }

    pub(crate) fn choose<'t, T: ?Sized>(&mut self, among: &[&'t T]) -> &'t T {
        among[self.pick(among.len())]
    }
}

/// One document.
pub(crate) fn document(tape: &mut ChoiceTape<'_>) -> String {
    let mut writer = YamlWriter {
        text: String::new(),
        anchors: 0,
        keys: 0,
    };
    match tape.pick(8) {
        6 => writer.text.push_str("---\n"),
        7 => writer.text.push_str("# head\n---\n# body\n"),
        _ => {}
    }
    match tape.pick(8) {
        5 => writer.flow(tape, 0, 0, true),
        6 => writer.sequence(tape, 0, 0),
        7 => {
            writer.json(tape, 0, 0);
        }
        _ => writer.mapping(tape, 0, 0),
    }
    if !writer.text.ends_with('\n') {
        writer.text.push('\n');
    }
    match tape.pick(8) {
        5 => writer.text.push_str("# tail\n"),
        6 => writer.text.push_str("  # deep tail\n"),
        7 => writer.text.push_str("\n\n"),
        _ => {}
    }
    let mut text = writer.text;
    if tape.chance(4) {
        text.pop();
    }
    match tape.pick(6) {
        4 => text = text.replace('\n', "\r\n"),
        5 => {
            let half = text.len() / 2;
            let at = text[..half].rfind('\n').map_or(0, |at| at + 1);
            text = [&text[..at], &text[at..].replace('\n', "\r\n")].concat();
        }
        _ => {}
    }
    if tape.chance(10) {
        text.insert(0, '\u{feff}');
    }
    text
}

struct YamlWriter {
    text: String,
    anchors: usize,
    keys: usize,
}

impl YamlWriter {
    fn indent(&mut self, column: usize) {
        self.text.extend(std::iter::repeat_n(' ', column));
    }

    /// Comment lines and blank lines between elements.
    fn between(&mut self, tape: &mut ChoiceTape<'_>, column: usize) {
        match tape.pick(12) {
            7 => self.text.push('\n'),
            8 => self.comment(column),
            9 => self.comment(column + 2),
            10 => self.comment(column.saturating_sub(2)),
            11 => {
                self.comment(column + 1);
                self.text.push_str("\n  \n");
                self.comment(column + 3);
            }
            _ => {}
        }
    }

    fn comment(&mut self, column: usize) {
        self.indent(column);
        self.text.push_str("# note\n");
    }

    fn line_end(&mut self, tape: &mut ChoiceTape<'_>) {
        match tape.pick(6) {
            4 => self.text.push_str("  # why"),
            5 => self.text.push(' '),
            _ => {}
        }
        self.text.push('\n');
    }

    fn key(&mut self, tape: &mut ChoiceTape<'_>) {
        self.keys += 1;
        let name = format!("k{}", self.keys);
        let key = match tape.pick(11) {
            5 => format!("\"{name}\""),
            6 => format!("'{name}/~x'"),
            7 => format!("{name} "),
            // Keys that are read as others: 31, true, false.
            8 => format!("0x{:x}", self.keys + 15),
            9 => "on".to_owned(),
            10 => "No".to_owned(),
            _ => name,
        };
        self.text.push_str(&key);
        self.text.push(':');
    }

    fn mapping(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        for at in 0..=tape.pick(4) {
            if at > 0 {
                self.between(tape, column);
                self.indent(column);
            }
            self.key(tape);
            self.value(tape, column, depth);
        }
    }

    fn sequence(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        let gap = 1 + 2 * usize::from(tape.chance(5));
        for at in 0..=tape.pick(4) {
            if at > 0 {
                self.between(tape, column);
                self.indent(column);
            }
            self.text.push('-');
            let inside = column + 1 + gap;
            match if depth > 3 { 0 } else { tape.pick(8) } {
                4 | 5 => {
                    self.indent(gap);
                    self.mapping(tape, inside, depth + 1);
                }
                6 => {
                    self.indent(gap);
                    self.sequence(tape, inside, depth + 1);
                }
                7 => {
                    self.line_end(tape);
                    self.between(tape, column + 2);
                    self.indent(column + 2);
                    self.mapping(tape, column + 2, depth + 1);
                }
                _ => {
                    self.indent(gap);
                    self.scalar(tape, column, depth);
                }
            }
        }
    }

    fn value(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        let choice = if depth > 3 { 0 } else { tape.pick(10) };
        match choice {
            5 | 6 => {
                self.properties(tape);
                self.line_end(tape);
                let inside = column + 2 + 2 * tape.pick(2);
                self.between(tape, inside);
                self.indent(inside);
                self.mapping(tape, inside, depth + 1);
            }
            7 | 8 => {
                self.line_end(tape);
                let inside = column + 2 * tape.pick(3);
                self.between(tape, inside);
                self.indent(inside);
                self.sequence(tape, inside, depth + 1);
            }
            9 => {
                self.text.push(' ');
                self.flow(tape, column, depth, true);
                self.line_end(tape);
            }
            _ => {
                self.text.push(' ');
                self.scalar(tape, column, depth);
            }
        }
    }

    fn properties(&mut self, tape: &mut ChoiceTape<'_>) {
        match tape.pick(12) {
            10 => {
                self.anchors += 1;
                self.text.push_str(&format!(" &a{}", self.anchors));
            }
            11 => self.text.push_str(" !!map"),
            _ => {}
        }
    }

    fn scalar(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        let inside = " ".repeat(column + 2);
        let text = match tape.pick(16) {
            0 => "x".to_owned(),
            1 => "5".to_owned(),
            2 => "'q'".to_owned(),
            3 => "\"d # \"".to_owned(),
            4 => "null".to_owned(),
            5 => "~".to_owned(),
            6 => String::new(),
            7 => format!("long\n{inside}word"),
            8 => format!("\"long\n\n{inside}word\""),
            9 => {
                let header = tape.choose(&["|", ">", "|-", "|+", ">-", "|2", ">+"]);
                let header = if header.ends_with('2') && column > 0 {
                    "|"
                } else {
                    header
                };
                let blank = tape.choose(&["", "\n", "\n\n"]);
                let comment = tape.choose(&["", "", " # header"]);
                self.text.push_str(&format!(
                    "{header}{comment}\n{inside}one\n\n{inside} two\n{blank}"
                ));
                return;
            }
            10 => "{}".to_owned(),
            11 => "[]".to_owned(),
            12 => "0644".to_owned(),
            13 if self.anchors > 0 => "*a1".to_owned(),
            14 => "yes".to_owned(),
            15 if depth < 3 => {
                self.flow(tape, column, depth, true);
                return self.line_end(tape);
            }
            _ => "a b".to_owned(),
        };
        self.text.push_str(&text);
        self.line_end(tape);
    }

    fn flow(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize, lines: bool) {
        let is_mapping = tape.pick(2) == 0;
        let own_lines = lines && tape.chance(3);
        let [open, close] = if is_mapping { ["{", "}"] } else { ["[", "]"] };
        self.text.push_str(open);
        let count = tape.pick(4);
        let padding = !own_lines && tape.chance(4);
        if padding {
            self.text.push(' ');
        }
        for at in 0..count {
            if own_lines {
                self.text.push('\n');
                if tape.chance(6) {
                    self.comment(column + 4);
                }
                self.indent(column + 4);
            }
            if is_mapping {
                self.key(tape);
                self.text.push(' ');
            }
            if depth < 3 && tape.chance(4) {
                self.flow(tape, column + 4, depth + 1, own_lines);
            } else {
                self.text
                    .push_str(tape.choose(&["x", "5", "'q'", "\"d, \"", "null", "a b"]));
            }
            let last = at + 1 == count;
            if !last || tape.chance(4) {
                self.text.push(',');
                if !last && !own_lines {
                    self.text.push_str(tape.choose(&[" ", " ", ""]));
                }
            }
            if own_lines && tape.chance(5) {
                self.text.push_str(" # why");
            }
        }
        if own_lines && count > 0 {
            self.text.push('\n');
            self.indent(column + 2);
        }
        if padding {
            self.text.push(' ');
        }
        self.text.push_str(close);
    }

    fn json(&mut self, tape: &mut ChoiceTape<'_>, column: usize, depth: usize) {
        let [comma, colon] = *tape.choose(&[&[",\n", ": "], &[", ", ": "], &[",", ":"]]);
        self.json_in(tape, column, depth, comma, colon);
    }

    fn json_in(
        &mut self,
        tape: &mut ChoiceTape<'_>,
        column: usize,
        depth: usize,
        comma: &str,
        colon: &str,
    ) {
        let is_mapping = tape.pick(2) == 0;
        let [open, close] = if is_mapping { ["{", "}"] } else { ["[", "]"] };
        let count = tape.pick(4);
        let pretty = comma.ends_with('\n') && count > 0;
        self.text.push_str(open);
        for at in 0..count {
            if at > 0 {
                self.text.push_str(comma.trim_end_matches('\n'));
            }
            if pretty {
                self.text.push('\n');
                self.indent(column + 2);
            }
            if is_mapping {
                self.keys += 1;
                self.text.push_str(&format!("\"k{}\"{colon}", self.keys));
            }
            if depth < 4 && tape.pick(2) == 1 {
                self.json_in(tape, column + 2, depth + 1, comma, colon);
            } else {
                self.text
                    .push_str(tape.choose(&["1", "\"x\"", "null", "true"]));
            }
        }
        if pretty {
            self.text.push('\n');
            self.indent(column);
        }
        self.text.push_str(close);
    }
}
