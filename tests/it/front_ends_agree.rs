//! Law 5: the same manifest and configuration give the same pods through every front end: a file, stdin as Helm prints it, and the
//! items of a ResourceList with the configuration as functionConfig.

use crate::program::Folder;
use laws::cases;
use laws::generators;
use laws::independent_reader::{self, Template};
use laws::resource_list::as_resource_list;
use proptest::prelude::{any, prop};
use proptest::test_runner::{Config as Runs, TestRunner};
use serde_json::Value;

/// The result of a front end: true if it refused, and the templates of its output.
#[derive(Debug, PartialEq)]
struct DoorResult {
    refused: bool,
    templates: Vec<(Template, Value)>,
}

fn templates(text: &str) -> Vec<(Template, Value)> {
    let values = independent_reader::documents(text)
        .into_iter()
        .filter_map(independent_reader::read);
    values
        .flat_map(|value| independent_reader::pods(&value))
        .collect()
}

/// Runs every front end. None if the manifest cannot be the items of a list, or libyaml does not read it.
fn agree(text: &str, configuration: Option<&str>, flags: &[&str]) -> Option<Result<(), String>> {
    // Blank input and function calls are the stream's own business; an item of a list always has its line's end.
    if text.trim().is_empty() || text.contains("ResourceList") || !text.ends_with('\n') {
        return None;
    }
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    if independent_reader::documents(plain)
        .into_iter()
        .any(|document| independent_reader::read(document).is_none())
    {
        return None;
    }
    let folder = Folder::with(&[
        ("input.yaml", text),
        ("config.yaml", configuration.unwrap_or_default()),
    ]);
    let with = |first: &[&'static str]| -> Vec<String> {
        let config: &[&str] = if configuration.is_some() {
            &["--config", "config.yaml"]
        } else {
            &[]
        };
        first
            .iter()
            .chain(config)
            .chain(flags)
            .map(|word| (*word).to_owned())
            .collect()
    };
    let call = |args: &[String], input: &str| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = folder.run_with(&args, input);
        (ran.code != Some(0), ran.stdout)
    };
    let (stream_refused, stream) = call(&with(&[]), text);
    let (refused, file) = call(&with(&["inject", "input.yaml"]), "");
    if (refused, &file) != (stream_refused, &stream) {
        return Some(Err(format!(
            "the file gives {refused} {file}\nthe stream gives {stream_refused} {stream}"
        )));
    }
    let mut list = as_resource_list("doors", text)?;
    // A line of a tab alone does not move in with the others.
    independent_reader::read(&list)?;
    if let Some(configuration) = configuration {
        list.push_str("functionConfig:\n");
        configuration
            .lines()
            .for_each(|line| list.push_str(&format!("  {line}\n")));
    }
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let (list_refused, list) = call(&flags, &list);
    let by_file = DoorResult {
        refused,
        templates: if refused {
            templates(text)
        } else {
            templates(&file)
        },
    };
    let by_list = DoorResult {
        refused: list_refused,
        templates: templates(&list),
    };
    if by_file != by_list {
        return Some(Err(format!(
            "the file gives ({refused})\n{file}\nthe list gives ({list_refused})\n{list}"
        )));
    }
    Some(Ok(()))
}

#[test]
fn front_ends_agree_over_each_case() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in cases::all() {
        let flags: Vec<&str> = case.command.split_whitespace().collect();
        // A function takes settings from its functionConfig; other flags are the command's own.
        if flags.first().is_some_and(|first| *first != "--namespace") {
            continue;
        }
        match agree(&case.text, case.configuration.as_deref(), &flags) {
            Some(Ok(())) => tried += 1,
            Some(Err(what)) => wrong.push(format!("== {}: {what}", case.name)),
            None => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 100, "only {tried} were tried");
}

#[test]
fn front_ends_agree_over_generated_manifests() {
    let tape = || prop::collection::vec(any::<u8>(), 0..600);
    let runs = Runs {
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Runs::default()
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        runs.cases
    } else {
        150
    };
    let result =
        TestRunner::new(Runs { cases, ..runs }).run(&(tape(), tape()), |(manifest, config)| {
            let text = generators::stream(&mut generators::Tape::new(&manifest));
            let config = generators::configuration_text(&mut generators::Tape::new(&config));
            match agree(&text, Some(&config), &[]) {
                Some(Err(what)) => Err(proptest::test_runner::TestCaseError::fail(format!(
                    "{what}\n{config}\n{text}"
                ))),
                _ => Ok(()),
            }
        });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
