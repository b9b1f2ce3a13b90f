//! The page "Try it" of both books, built with the injector as WebAssembly and used in a real browser.

use super::LANGUAGES;
use crate::browser::{Browser, Request};
use crate::http_server::serve;
use crate::program::Folder;
use crate::tools;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::root;

/// Both books, served.
struct Site {
    folder: PathBuf,
    address: String,
}

impl Site {
    /// True for the loading of one of its files, without a word beside the name.
    fn is_a_file(&self, request: &Request) -> bool {
        let name = request.address.strip_prefix(&self.address);
        request.method == "GET"
            && name.is_some_and(|name| self.folder.join(name.trim_start_matches('/')).is_file())
    }
}

/// Builds both books.
fn site() -> Option<Site> {
    let target = Command::new("rustc")
        .args([
            "--print",
            "target-libdir",
            "--target",
            "wasm32-unknown-unknown",
        ])
        .output()
        .unwrap();
    if !Path::new(String::from_utf8(target.stdout).unwrap().trim()).is_dir() {
        tools::missing(
            "Rust for WebAssembly",
            "run rustup target add wasm32-unknown-unknown",
        );
        return None;
    }
    tools::find("mdbook", "")?;
    tools::find("wasm-bindgen", "")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground");
    let build = Command::new(root().join("docs/playground/build"))
        .arg(&folder)
        // To compile is what takes time here.
        .envs([("PROFILE", "dev"), ("CARGO_PROFILE_DEV_DEBUG", "false")])
        .output()
        .unwrap();
    assert!(
        build.status.success(),
        "{}",
        String::from_utf8_lossy(&build.stderr)
    );
    let address = serve(&folder);
    Some(Site { folder, address })
}

/// The page in the browser.
struct Playground(Browser);

impl Playground {
    fn open(&self, site: &Site, language: &str) {
        self.0
            .open(&format!("{}/{language}/playground.html", site.address));
        self.0.wait_for("#playground .diff > span");
    }

    /// Returns the text of an element, or the value of a field.
    fn text(&self, selector: &str) -> String {
        let script = "const found = document.querySelector(arguments[0]); return typeof found.value === 'string' ? found.value : found.innerText";
        self.0
            .run(script, &json!([selector]))
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Returns the diff below the names of the file.
    fn diff(&self) -> String {
        let script = "return [...document.querySelectorAll('.diff > span')].map(line => `${line.textContent}\\n`).join('')";
        self.0.run(script, &json!([])).as_str().unwrap().to_owned()
    }

    fn choose(&self, list: usize, value: &str) {
        let script = "const list = document.querySelectorAll('#playground select')[arguments[0]];
            list.value = arguments[1]; list.dispatchEvent(new Event('change'))";
        self.0.run(script, &json!([list, value]));
    }

    fn paste(&self, field: &str, text: &str) {
        let script = "const field = document.querySelector(arguments[0]);
            field.value = arguments[1]; field.dispatchEvent(new Event('input'))";
        self.0.run(script, &json!([field, text]));
    }

    fn click(&self, selector: &str) {
        self.0.run(
            "document.querySelector(arguments[0]).click()",
            &json!([selector]),
        );
    }

    /// Returns the diff that the program prints for the texts of the page.
    fn diff_of_the_program(&self, command: &str) -> String {
        let texts = [
            ("manifest.yaml", &*self.text(".manifest")),
            ("agent-injector.yaml", &*self.text(".configuration")),
        ];
        let printed = Folder::with(&texts)
            .run(&[command, "--diff", "manifest.yaml"])
            .stdout;
        printed.split_inclusive('\n').skip(2).collect()
    }
}

/// The first of the lists chooses an example, the second a command.
const EXAMPLE: usize = 0;
const COMMAND: usize = 1;

#[test]
fn the_page_shows_what_the_program_prints_and_sends_nothing() {
    if !tools::on_path(&["chromedriver"]) {
        return;
    }
    let Some(site) = site() else {
        return;
    };
    let page = Playground(Browser::start());
    for language in LANGUAGES {
        page.open(&site, language);
        for example in ["deployment", "cronjob", "list"] {
            page.choose(EXAMPLE, example);
            let diff = page.diff();
            assert!(diff.contains("name: mackerel-container-agent\n"), "{diff}");
            assert_eq!(diff, page.diff_of_the_program("inject"), "{example}");
        }
        page.choose(EXAMPLE, "refused");
        assert_eq!(page.diff(), "");
        assert!(
            page.text(".findings .error")
                .starts_with("error[uneditable]")
        );
        page.click(".findings .error button");
        let selected = "const field = document.activeElement; return field.value.slice(field.selectionStart, field.selectionEnd)";
        assert_eq!(
            page.0.run(selected, &json!([])),
            "      containers: *containers"
        );

        what_is_typed_is_injected(&page);
        an_error_of_the_configuration_has_its_place(&page);
        the_result_can_be_uninjected(&page);
        a_hostile_text_is_an_error_and_the_page_goes_on(&page);
        in_its_language(&page, language);
    }
    // Judged at the end: a font or an icon is loaded when the browser has time for it.
    let requests = page.0.requests();
    let loaded = |suffix| {
        requests
            .iter()
            .any(|request| request.address.ends_with(suffix))
    };
    assert!(loaded(".wasm") && loaded("page.js"), "{requests:?}");
    let others: Vec<&Request> = requests
        .iter()
        .filter(|request| !site.is_a_file(request))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

fn what_is_typed_is_injected(page: &Playground) {
    page.paste(".manifest", "");
    assert_eq!(page.diff(), "");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: typed}\nspec: {containers: [{name: web, image: 'web:1'}]}\n";
    page.0.type_into(".manifest", pod);
    assert_eq!(page.text(".manifest"), pod);
    assert!(
        page.diff().contains("mackerel-container-agent"),
        "{}",
        page.diff()
    );
    assert_eq!(page.diff(), page.diff_of_the_program("inject"));
}

fn an_error_of_the_configuration_has_its_place(page: &Playground) {
    let valid = page.text(".configuration");
    page.paste(".configuration", &valid.replace("roles", "rolls"));
    let error = page.text(".findings .error");
    assert!(
        error.contains("unknown setting `agent.rolls`")
            && error.contains("agent-injector.yaml:5:5"),
        "{error}"
    );
    assert_eq!(page.diff(), "");
    page.paste(".configuration", &valid);
    assert!(page.diff().contains("shop:web"));
}

fn the_result_can_be_uninjected(page: &Playground) {
    page.choose(EXAMPLE, "deployment");
    let original = page.text(".manifest");
    page.click(".controls button");
    assert!(
        page.text(".manifest")
            .contains("name: mackerel-container-agent")
    );
    assert_eq!(page.diff(), "");
    page.choose(COMMAND, "uninject");
    assert_eq!(page.diff(), page.diff_of_the_program("uninject"));
    page.click(".controls button");
    assert_eq!(page.text(".manifest"), original);
}

fn a_hostile_text_is_an_error_and_the_page_goes_on(page: &Playground) {
    page.choose(COMMAND, "inject");
    let head = "apiVersion: v1\nkind: Pod\nspec: ";
    for deep in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
    ] {
        page.paste(".manifest", &format!("{head}{deep}"));
        let error = page.text(".findings .error");
        assert!(error.starts_with("error["), "{error}");
    }
    // Text of a manifest is no HTML.
    page.paste(
        ".manifest",
        &format!("{head}\n  <img src=x>: *<img_src=x>\n"),
    );
    let images = page.0.run(
        "return document.querySelectorAll('#playground img').length",
        &json!([]),
    );
    assert_eq!(images, 0);
    page.choose(EXAMPLE, "deployment");
    assert!(page.diff().contains("name: mackerel-container-agent"));
}

/// The words around the fields are those of the book.
fn in_its_language(page: &Playground, language: &str) {
    let words = match language {
        "ja" => ["マニフェスト", "変更はありません。"],
        _ => ["Manifest", "No change."],
    };
    page.paste(".manifest", "");
    let shown = page.text("#playground");
    assert!(
        words.iter().all(|word| shown.contains(word)),
        "{language}: {shown}"
    );
}
