//! A manifest as the input of a KRM function.

use std::fmt::Write as _;

/// All documents as items, flush with `items` or indented, by the name's length.
pub fn as_resource_list(name: &str, text: &str) -> Option<String> {
    // A bare carriage return ends a line too, which the indentation below does not know.
    if text.replace("\r\n", "").contains('\r') {
        return None;
    }
    let version = if name.len().is_multiple_of(2) {
        "v1"
    } else {
        "v1beta1"
    };
    let dash = if name.len().is_multiple_of(3) {
        "  - "
    } else {
        "- "
    };
    let mut list =
        format!("apiVersion: config.kubernetes.io/{version}\nkind: ResourceList\nitems:\n");
    let mut any = false;
    for document in
        crate::independent_reader::documents(text.strip_prefix('\u{feff}').unwrap_or(text))
    {
        // What a directive or a marker's own line says has no place inside a list.
        let mut lines = document
            .split_inclusive('\n')
            .skip_while(|line| line.trim_end() == "---")
            .peekable();
        if document.starts_with('%') || lines.peek().is_some_and(|line| line.starts_with("---")) {
            return None;
        }
        let mut begun = false;
        for line in lines.filter(|line| line.trim_end() != "...") {
            let blank = line.trim().is_empty();
            // It would become a line of the `|+` above.
            if blank && !begun {
                continue;
            }
            let comment = line.trim_start().starts_with('#');
            let indent = match begun {
                false if comment => "",
                false => dash,
                true if blank => "",
                true => &"    "[..dash.len()],
            };
            begun |= indent == dash;
            write!(list, "{indent}{line}").unwrap();
        }
        if !list.ends_with('\n') {
            list.push('\n');
        }
        any |= begun;
    }
    any.then_some(list)
}
