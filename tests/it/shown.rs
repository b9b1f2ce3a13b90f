//! A crate shows only what is named outside of it: the compiler finds no dead code behind `pub`. The program's own library and the
//! editor, which is published, are left out.

use crate::architecture::{code, crates, files, without_tests};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use support::root;

/// Fields that others fill in by `..` alone.
const FILLED_IN: [&str; 1] = ["read_keys"];

/// An item or a member of one that has the word `pub`.
#[derive(Debug)]
struct Item {
    /// The file, without `.rs`.
    module: String,
    /// The type that has the member; empty for an item of a file.
    owner: String,
    name: String,
    is_type: bool,
    /// The code up to its body.
    signature: String,
}

/// The sources of a folder by module, without comments, strings and tests.
fn sources(folder: &str) -> BTreeMap<String, String> {
    let folder = root().join(folder);
    files(&folder)
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
        .map(|file| {
            let name = file.strip_prefix(&folder).unwrap().with_extension("");
            let name = name.to_str().unwrap().replace('\\', "/");
            let module = name.strip_suffix("/mod").unwrap_or(&name).to_owned();
            (module, code(&fs::read_to_string(file).unwrap()))
        })
        .collect()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// The public items of a module, and the variants of its enums, as rustfmt lays them out.
fn items(module: &str, code: &str) -> Vec<Item> {
    let head = regex_lite::Regex::new(
        r"^( *)(?:pub )?(?:(?:const |async )*(fn|struct|enum|const|static|type|trait) )?(\w+)",
    )
    .unwrap();
    let of_impl = regex_lite::Regex::new(r"^impl(?:<.*?>)? (?:.* for )?&?(?:\w+::)*(\w+)").unwrap();
    let mut items = Vec::new();
    let (mut owner, mut has_variants) = (String::new(), false);
    let mut lines = code.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(found) = head.captures(line) else {
            if line == "}" {
                owner.clear();
            }
            continue;
        };
        let (indent, keyword) = (found[1].len(), found.get(2).map_or("", |one| one.as_str()));
        let is_type = matches!(keyword, "struct" | "enum" | "type" | "trait");
        let is_member = indent == 4 && !owner.is_empty();
        let is_shown = line.trim_start().starts_with("pub ")
            && !line.contains("pub use ")
            && !line.contains("pub mod ");
        if is_shown && (indent == 0 || is_member) || is_member && has_variants {
            let mut signature = line.to_owned();
            while !signature.trim_end().ends_with(['{', ';', ',', '}'])
                && let Some(next) = lines.next()
            {
                signature += next;
            }
            let name = if is_shown { &found[3] } else { "" };
            items.push(Item {
                module: module.to_owned(),
                owner: if is_member {
                    owner.clone()
                } else {
                    String::new()
                },
                name: name.to_owned(),
                is_type,
                signature,
            });
        }
        if indent == 0 {
            let of_impl = of_impl.captures(line).map(|found| found[1].to_owned());
            has_variants = keyword == "enum";
            owner = match of_impl {
                _ if !line.trim_end().ends_with('{') => String::new(),
                Some(owner) => owner,
                None if is_type => found[3].to_owned(),
                None => String::new(),
            };
        }
    }
    items
}

/// The names that the root of a crate shows, and its public modules.
fn shown(sources: &BTreeMap<String, String>) -> (HashSet<String>, HashSet<String>) {
    let public = |pattern: &str, code: &str| {
        let pattern = regex_lite::Regex::new(pattern).unwrap();
        pattern
            .captures_iter(code)
            .map(|found| found[1].to_owned())
            .collect::<Vec<_>>()
    };
    let (mut names, mut modules) = (HashSet::new(), HashSet::new());
    let mut open = vec!["lib".to_owned()];
    while let Some(module) = open.pop() {
        let code = &sources[&module];
        for tree in public(r"(?m)^pub use ([^;]*);", code) {
            names.extend(words(&tree).map(str::to_owned));
        }
        for child in public(r"(?m)^pub mod (\w+);", code) {
            open.push(if module == "lib" {
                child
            } else {
                format!("{module}/{child}")
            });
        }
        modules.insert(module);
    }
    (names, modules)
}

#[test]
fn no_crate_shows_what_is_named_nowhere_else() {
    let crates: Vec<String> = crates()
        .into_iter()
        .filter(|one| one.starts_with("crates/"))
        .collect();
    let sources: Vec<_> = crates.iter().map(|folder| sources(folder)).collect();
    let others = [
        "src",
        "tests",
        "benches/speed",
        "benches/growth",
        "docs/playground/src",
        "fuzz",
    ];
    let named = |folder: &str| -> HashSet<String> {
        let sources = self::sources(folder);
        sources
            .values()
            .flat_map(|code| words(code))
            .map(str::to_owned)
            .collect()
    };
    let tests = crates.iter().map(|folder| folder.replace("/src", "/tests"));
    let beside: HashSet<String> = others
        .map(str::to_owned)
        .into_iter()
        .chain(tests.filter(|folder| root().join(folder).is_dir()))
        .flat_map(|folder| named(&folder))
        .collect();
    let mut wrong = BTreeSet::new();
    for (at, folder) in crates.iter().enumerate() {
        if folder.starts_with("crates/yaml-json-patch/") {
            continue;
        }
        let above = sources.iter().enumerate().filter(|(other, _)| *other != at);
        let above: HashSet<&str> = above
            .flat_map(|(_, code)| code.values())
            .flat_map(|code| words(code))
            .collect();
        let is_named =
            |name: &str| above.contains(name) || beside.contains(name) || FILLED_IN.contains(&name);
        let (names, modules) = shown(&sources[at]);
        let all: Vec<Item> = sources[at]
            .iter()
            .flat_map(|(module, code)| items(module, &without_tests(code)))
            .collect();
        // Types are shown by name, or by what has them.
        let mut open: Vec<&Item> = Vec::new();
        for item in all.iter().filter(|item| item.owner.is_empty()) {
            let is_open = modules.contains(&item.module);
            if is_open && !item.is_type && !is_named(&item.name) {
                wrong.insert(format!("{folder}/{}.rs: {}", item.module, item.name));
            }
            if is_open && !item.is_type
                || names.contains(&item.name)
                || is_open && is_named(&item.name)
            {
                open.push(item);
            }
        }
        let mut seen = HashSet::new();
        while let Some(item) = open.pop() {
            if !seen.insert((&item.module, &item.name)) {
                continue;
            }
            let mut signatures = item.signature.clone();
            for member in all
                .iter()
                .filter(|member| item.is_type && member.owner == item.name)
            {
                signatures += &member.signature;
                if !member.name.is_empty() && !is_named(&member.name) {
                    wrong.insert(format!(
                        "{folder}/{}.rs: {}::{}",
                        member.module, item.name, member.name
                    ));
                }
            }
            let mentioned: HashSet<&str> = words(&signatures).collect();
            open.extend(
                all.iter()
                    .filter(|other| other.is_type && mentioned.contains(&*other.name)),
            );
        }
        let reached = |item: &&Item| !seen.contains(&(&item.module, &item.name));
        for item in all
            .iter()
            .filter(|item| item.is_type && modules.contains(&item.module))
            .filter(reached)
        {
            wrong.insert(format!("{folder}/{}.rs: {}", item.module, item.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "`pub`, but named nowhere else: {wrong:#?}"
    );
}
