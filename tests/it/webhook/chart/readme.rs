//! The README of the chart, which `helm show readme` prints: its values are those of `values.yaml`.

use super::{chart, helms, run};
use std::fs;
use support::expected;

const VALUES: &str = "\n## Values\n";

/// A list of the values with their comments.
///
/// ```text
/// a:                 ->  - `a.b`: the comment. Default: `1`
///   # The comment.
///   b: 1
/// ```
fn values() -> String {
    let (mut list, mut comment, mut path) = (String::new(), Vec::new(), Vec::<&str>::new());
    let text = fs::read_to_string(chart().join("values.yaml")).unwrap();
    for line in text.lines().skip_while(|line| !line.is_empty()) {
        let (key, depth) = (line.trim_start(), line.len() - line.trim_start().len());
        if let Some(said) = key.strip_prefix('#') {
            comment.push(said.strip_prefix(' ').unwrap_or(said));
            continue;
        }
        if let Some((name, default)) = key.split_once(':') {
            path.truncate(depth / 2);
            path.push(name);
            let default = default.trim();
            if !(comment.is_empty() && default.is_empty()) {
                list += &format!("- `{}`", path.join("."));
                if !default.is_empty() {
                    list += &format!(" (default: `{default}`)");
                }
                list.push('\n');
                for said in &comment {
                    match said.split_once("  ") {
                        // A column of what the value may be, with its meaning.
                        Some((value, meaning)) if !value.is_empty() => {
                            list += &format!("  - `{value}`: {}\n", meaning.trim_start());
                        }
                        Some((_, more)) => list += &format!("    {}\n", more.trim_start()),
                        None => list += &format!("  {said}\n"),
                    }
                }
            }
        }
        comment.clear();
    }
    list
}

/// `UPDATE_EXPECTED=1 cargo test chart` writes its values anew.
#[test]
fn it_lists_the_values_and_helm_shows_it() {
    let path = chart().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (head, _) = readme.split_once(VALUES).unwrap();
    let expected = [head, VALUES, "\n", &values()].concat();
    expected::assert_is(&path, &expected, "cargo test chart");
    for helm in helms() {
        assert_eq!(
            run(&helm, &["show", "readme", "webhook/chart"])
                .unwrap()
                .trim(),
            expected.trim()
        );
    }
}
