//! Rules that the compiler does not judge. Inside `injector` and the editor, a module names only those above it in `lib.rs`. No two
//! files of a crate name each other, not even through others; a folder's `mod.rs` counts with its children. Tests inside files may name
//! anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use support::root;

/// The files of a folder and of the folders in it.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                &mut folders
            } else {
                &mut files
            }
            .push(path);
        }
    }
    files
}

/// The modules of a source folder, each with its code: no comments, no strings, no tests.
fn modules(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in files(root) {
        let name = path
            .strip_prefix(root)
            .unwrap()
            .with_extension("")
            .to_str()
            .unwrap()
            .replace(['/', '\\'], "::");
        let module = name.strip_suffix("::mod").unwrap_or(&name).to_owned();
        if !matches!(&*module, "lib" | "main") {
            found.insert(
                module,
                without_tests(&code(&fs::read_to_string(path).unwrap())),
            );
        }
    }
    found
}

/// The text with blanks for comments, strings and characters.
pub(crate) fn code(text: &str) -> String {
    let pattern = concat!(
        r#"(?s)//[^\n]*|/\*.*?\*/"#,
        r##"|r#+".*?"#+|r"[^"]*""##,
        r#"|b?"(?:\\.|[^"\\])*""#,
        r#"|b?'(?:\\.[^']*|[^'\\])'"#,
    );
    regex_lite::Regex::new(pattern)
        .unwrap()
        .replace_all(text, " ")
        .into_owned()
}

/// The code without items behind `#[cfg(test)]`.
pub(crate) fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        let item = &rest[at..];
        let mut depth = 0;
        let end = item.char_indices().find_map(|(index, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0 && matches!(character, '}' | ';')).then_some(index + 1)
        });
        rest = &item[end.unwrap_or(item.len())..];
    }
    kept + rest
}

/// Every path of the code that begins with `crate` or `super`, with groups in braces expanded.
fn paths(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for start in regex_lite::Regex::new(r"\b(?:crate|super)::")
        .unwrap()
        .find_iter(code)
    {
        open(&code[start.start()..], "", &mut found);
    }
    found
}

/// Reads one path, and gives what is left behind it.
fn open<'c>(code: &'c str, before: &str, found: &mut BTreeSet<String>) -> &'c str {
    let is_word =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | ':' | '*');
    let end = code
        .find(|character| !is_word(character))
        .unwrap_or(code.len());
    let path = format!("{before}{}", &code[..end]);
    let mut rest = &code[end..];
    if !path.ends_with("::") || !rest.starts_with('{') {
        found.insert(path);
        return rest;
    }
    while rest.starts_with(['{', ',']) {
        rest = open(rest[1..].trim_start(), &path, found).trim_start();
        // `as name`
        rest = rest.find(['{', ',', '}']).map_or("", |next| &rest[next..]);
    }
    rest.strip_prefix('}').unwrap_or(rest)
}

/// The modules that each module names, without itself and without names that are no modules.
fn imports(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules(root);
    let target = |module: &str, path: &str| {
        let mut at: Vec<&str> = module.split("::").collect();
        let mut tokens = path.split("::").peekable();
        if tokens.next_if_eq(&"crate").is_some() {
            at.clear();
        }
        while tokens.next_if_eq(&"super").is_some() {
            at.pop();
        }
        at.extend(tokens);
        (1..=at.len())
            .rev()
            .map(|length| at[..length].join("::"))
            .find(|name| modules.contains_key(name))
    };
    let named = |module: &String, code: &String| {
        paths(code)
            .iter()
            .filter_map(|path| target(module, path))
            .filter(|named| named != module)
            .collect()
    };
    modules
        .iter()
        .map(|(module, code)| (module.clone(), named(module, code)))
        .collect()
}

fn source(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    imports(&root().join(folder))
}

fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

/// The modules of a crate in the order of its `lib.rs`.
fn order(folder: &str) -> Vec<String> {
    let root = fs::read_to_string(root().join(folder).join("lib.rs")).unwrap();
    let module = regex_lite::Regex::new(r"(?m)^(?:pub )?mod (\w+);").unwrap();
    module
        .captures_iter(&root)
        .map(|found| found[1].to_owned())
        .collect()
}

#[track_caller]
fn assert_one_way(folder: &str) {
    let order = order(folder);
    let rank = |module: &str| {
        let at = order.iter().position(|known| known == top(module));
        at.unwrap_or_else(|| panic!("{folder}/lib.rs lacks `{}`", top(module)))
    };
    let mut wrong = Vec::new();
    for (module, named) in source(folder) {
        let below = named.iter().filter(|named| rank(named) > rank(&module));
        wrong.extend(below.map(|named| format!("{module} names {named}, which stands below it")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[track_caller]
fn assert_without_circles(folder: &str) {
    let imports = source(folder);
    let has_children = |module: &str| {
        imports
            .keys()
            .any(|other| other.starts_with(&format!("{module}::")))
    };
    let next = |module: &str| {
        imports[module]
            .iter()
            .filter(|named| !has_children(named))
            .cloned()
            .collect::<Vec<_>>()
    };
    for start in imports.keys().filter(|module| !has_children(module)) {
        let (mut seen, mut open) = (BTreeSet::new(), next(start));
        while let Some(module) = open.pop() {
            assert!(
                module != *start,
                "{folder}: {start} names itself through others: {seen:?}"
            );
            if seen.insert(module.clone()) {
                open.extend(next(&module));
            }
        }
    }
}

/// The folders of sources.
pub(crate) fn crates() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        format!("crates/{name}/src")
    });
    crates.chain(["src".to_owned()]).collect()
}

#[test]
fn a_module_names_only_what_stands_above() {
    for folder in ["crates/injector/src", "crates/yaml-json-patch/src"] {
        assert_one_way(folder);
    }
}

#[test]
fn no_files_name_each_other() {
    for folder in crates() {
        assert_without_circles(&folder);
    }
}

#[test]
fn no_file_is_long() {
    for path in crates()
        .iter()
        .flat_map(|folder| files(&root().join(folder)))
    {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= 600, "{} has {lines} lines", path.display());
    }
}

/// The rule of CONTRIBUTING.md, for the first line of each doc comment.
#[test]
fn a_doc_comment_begins_with_a_noun_phrase_or_a_verb() {
    let question =
        regex_lite::Regex::new("^//[/!] (What|Where|How|Who|Whose|Whether|Of) ").unwrap();
    let mut wrong = Vec::new();
    for path in [
        "src",
        "tests",
        "benches/speed",
        "benches/peers/src",
        "crates",
        "docs/playground/src",
    ]
    .iter()
    .flat_map(|folder| files(&root().join(folder)))
    {
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut before = "";
        for (index, line) in text.lines().map(str::trim_start).enumerate() {
            if question.is_match(line) && !before.starts_with("///") && !before.starts_with("//!") {
                wrong.push(format!("{}:{}: {line}", path.display(), index + 1));
            }
            before = line;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_are_read_in_groups_and_outside_comments() {
    let text = "use crate::{a, b::{self, C as D}, e};\n// crate::comment\nfn f() { super::g::h(\"crate::string\"); }\n\
                #[cfg(test)]\nmod tests { use crate::tested; }\n";
    let found: Vec<String> = paths(&without_tests(&code(text))).into_iter().collect();
    assert_eq!(
        found,
        [
            "crate::a",
            "crate::b::C",
            "crate::b::self",
            "crate::e",
            "super::g::h"
        ]
    );
}
