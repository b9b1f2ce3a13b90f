//! Several threads share a long text. What is written does not depend on their number.

use crate::program::{Folder, Ran};
use laws::cases;
use mackerel_agent_injector::is_call;
use std::fmt::Write;
use yaml_json_patch::{documents, read};

/// More than each of seven threads takes at a time.
const LONG: usize = 1 << 19;

/// The documents of the cases, in which every kind of message is, until they are long enough.
fn manifests() -> Vec<String> {
    let cases = cases::all();
    let mut manifests = Vec::new();
    let mut size = 0;
    for case in cases.iter().cycle() {
        if size > LONG {
            return manifests;
        }
        if is_call(&case.text) || case.text.starts_with('\u{feff}') {
            continue;
        }
        for document in documents(&case.text) {
            let text = case.text[document.span].trim_start_matches("---\n");
            size += text.len();
            manifests.push(text.to_owned());
        }
    }
    manifests
}

fn stream() -> String {
    let mut stream = String::new();
    for manifest in manifests() {
        writeln!(stream, "---\n{manifest}").unwrap();
    }
    stream
}

/// A ResourceList of the manifests that can be items.
fn list() -> String {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for manifest in manifests() {
        let is_plain = manifest.starts_with("apiVersion:") && !manifest.contains(['\t', '\r']);
        let item = format!("- {}\n", manifest.trim_end().replace('\n', "\n  "));
        if is_plain && read(&item).is_ok_and(|tree| !tree.has_aliases()) {
            list += &item;
        }
    }
    list
}

#[test]
fn output_and_messages_do_not_depend_on_the_number_of_threads() {
    let folder = Folder::with(&[]);
    let run = |threads: &str, command: &[&str], text: &str| -> Ran {
        let settings = ["--threads", threads, "--set", "onError=skip"];
        folder.run_with(&[command, &settings].concat(), text)
    };
    for (text, report, found) in [
        (stream(), &["explain", "-"][..], 0),
        (list(), &["inject", "--check", "-"], 1),
    ] {
        for (command, code) in [(&[][..], 0), (report, found)] {
            let one = run("1", command, &text);
            assert_eq!(one.code, Some(code), "{}", one.stderr);
            for threads in ["2", "7"] {
                // A difference would be a megabyte long.
                assert!(run(threads, command, &text) == one, "{threads} {command:?}");
            }
        }
    }
}
