//! `public-names.txt`: what a program can name without features. `UPDATE_EXPECTED=1 cargo test -p yaml-json-patch public_names` writes it
//! anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use support::expected;

/// The most names in the public interface.
const MOST: usize = 20;

#[test]
fn the_public_names_are_those_of_the_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = exported(&std::fs::read_to_string(root.join("src/lib.rs")).unwrap());
    add_members(&root.join("src"), &mut names);
    assert!(names.len() <= MOST, "{} names", names.len());
    let mut seen = String::new();
    for (name, members) in &names {
        writeln!(seen, "{name}").unwrap();
        members
            .iter()
            .for_each(|member| writeln!(seen, "  {member}").unwrap());
    }
    expected::assert_is(
        &root.join("public-names.txt"),
        &seen,
        "cargo test -p yaml-json-patch public_names",
    );
}

/// The names that the crate's root shows without features.
fn exported(root: &str) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    let mut has_condition = false;
    for item in root.split_inclusive([';', ']']) {
        let item = item.trim();
        let item = item.lines().filter(|line| !line.starts_with("//"));
        let item = item.collect::<Vec<_>>().join(" ");
        if item.starts_with("#[") {
            has_condition |= item.starts_with("#[cfg(");
            continue;
        }
        let shown = item
            .strip_suffix(';')
            .and_then(|item| item.strip_prefix("pub "));
        if let Some(shown) = shown.filter(|_| !has_condition) {
            let last = shown.rsplit([':', ' ']).next().unwrap_or_default();
            let list = shown.split_once('{').map_or(last, |(_, list)| list);
            let list = list.trim_end_matches('}').split(',').map(str::trim);
            names.extend(
                list.filter(|name| !name.is_empty())
                    .map(|name| (name.to_owned(), Vec::new())),
            );
        }
        has_condition = false;
    }
    names
}

/// Adds the fields, variants and methods of each name, as rustfmt writes them.
fn add_members(folder: &Path, names: &mut BTreeMap<String, Vec<String>>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            add_members(&path, names);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut inside: Option<(usize, String, bool)> = None;
        for line in text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default()
            .lines()
        {
            let code = line.trim_start();
            let indentation = line.len() - code.len();
            match &inside {
                None => inside = opened(code).map(|(name, is_enum)| (indentation, name, is_enum)),
                Some((column, ..)) if *column == indentation && code.starts_with('}') => {
                    inside = None
                }
                Some((_, name, is_enum)) => {
                    if let (Some(members), Some(member)) =
                        (names.get_mut(name), member(code, *is_enum))
                    {
                        members.push(member);
                    }
                }
            }
        }
    }
}

/// The type whose members follow a line, and whether they are variants.
fn opened(code: &str) -> Option<(String, bool)> {
    if code.starts_with("error_kinds! {") {
        return Some(("ErrorKind".to_owned(), true));
    }
    let code = code.strip_suffix('{')?;
    let is_enum = code.starts_with("pub enum ");
    let of = ["pub enum ", "pub struct ", "impl "]
        .into_iter()
        .find_map(|word| code.strip_prefix(word))?;
    let name: String = of.chars().take_while(|one| one.is_alphanumeric()).collect();
    (!code.contains(" for ")).then_some((name, is_enum))
}

fn member(code: &str, is_variant: bool) -> Option<String> {
    let named = |text: &str| {
        text.chars()
            .take_while(|one| one.is_alphanumeric() || *one == '_')
            .collect::<String>()
    };
    if is_variant {
        return Some(named(code)).filter(|name| name.starts_with(char::is_uppercase));
    }
    let rest = code.strip_prefix("pub ")?;
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    Some(match rest.strip_prefix("fn ") {
        Some(function) => format!("{}()", named(function)),
        None => named(rest),
    })
    .filter(|name| !name.is_empty())
}
