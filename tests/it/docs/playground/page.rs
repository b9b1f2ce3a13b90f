//! The page "Try it" in a real browser: both books built and served, and what a user does.

use crate::browser::{Browser, Request};
use crate::http_server::serve;
use crate::program::Folder;
use crate::tools;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use support::root;

/// Both books, served.
pub(super) struct Site {
    folder: PathBuf,
    address: String,
}

impl Site {
    /// True for the loading of one of its files, without a word beside the name.
    pub(super) fn is_a_file(&self, request: &Request) -> bool {
        let name = request.address.strip_prefix(&self.address);
        request.method == "GET"
            && name.is_some_and(|name| self.folder.join(name.trim_start_matches('/')).is_file())
    }
}

/// Builds both books.
pub(super) fn site() -> Option<Site> {
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
pub(super) struct Playground {
    pub(super) browser: Browser,
    pub(super) site: Site,
    pub(super) language: &'static str,
}

impl Playground {
    pub(super) fn open(&self) {
        self.browser.open(&self.address("playground"));
        self.wait();
    }

    /// Goes to another page, and forgets the texts of the tab.
    pub(super) fn forget(&self) {
        self.browser.open(&self.address("introduction"));
        self.run("sessionStorage.clear()", &json!([]));
    }

    pub(super) fn address(&self, page: &str) -> String {
        format!("{}/{}/{page}.html", self.site.address, self.language)
    }

    pub(super) fn wait(&self) {
        self.browser.wait_for("#playground .output");
    }

    pub(super) fn run(&self, script: &str, arguments: &Value) -> Value {
        self.browser.run(script, arguments)
    }

    /// Returns the text of an element, or the value of a field; empty if there is none.
    pub(super) fn text(&self, selector: &str) -> String {
        let script = "const found = document.querySelector(arguments[0]);
            return typeof found?.value === 'string' ? found.value : found?.textContent ?? ''";
        let text = self.run(script, &json!([selector]));
        text.as_str().unwrap().to_owned()
    }

    /// Returns the lines of the result.
    pub(super) fn shown(&self) -> String {
        let script = "return [...document.querySelectorAll('.output > span')].map(line => `${line.textContent}\\n`).join('')";
        let text = self.run(script, &json!([]));
        text.as_str().unwrap().to_owned()
    }

    /// True for what a user sees.
    pub(super) fn is_visible(&self, selector: &str) -> bool {
        let script = "return document.querySelector(arguments[0]).checkVisibility()";
        self.run(script, &json!([selector])) == true
    }

    pub(super) fn choose(&self, list: usize, value: &str) {
        let script = "const list = document.querySelectorAll('.controls select')[arguments[0]];
            list.value = arguments[1]; list.dispatchEvent(new Event('change'))";
        self.run(script, &json!([list, value]));
    }

    pub(super) fn paste(&self, field: &str, text: &str) {
        let script = "const field = document.querySelector(arguments[0]);
            field.value = arguments[1]; field.dispatchEvent(new Event('input'))";
        self.run(script, &json!([field, text]));
    }

    pub(super) fn click(&self, selector: &str) {
        let script = "document.querySelector(arguments[0]).click()";
        self.run(script, &json!([selector]));
    }

    /// Presses one of the buttons, which are counted from 0.
    pub(super) fn act(&self, button: usize) {
        let script = "document.querySelectorAll('.actions button')[arguments[0]].click()";
        self.run(script, &json!([button]));
    }

    /// Returns what the program prints for the texts of the page.
    pub(super) fn program(&self, arguments: &[&str]) -> String {
        let texts = [
            ("manifest.yaml", &*self.text(".manifest")),
            ("agent-injector.yaml", &*self.text(".configuration")),
        ];
        Folder::with(&texts).run(arguments).stdout
    }

    /// Returns the diff that the program prints, below the names of the file.
    pub(super) fn diff_of_the_program(&self, command: &[&str]) -> String {
        let printed = self.program(&[command, &["--diff", "manifest.yaml"]].concat());
        printed.split_inclusive('\n').skip(2).collect()
    }

    /// Waits until the page says it.
    pub(super) fn says(&self, english: &str, japanese: &str) {
        let expected = if self.language == "ja" {
            japanese
        } else {
            english
        };
        let started = Instant::now();
        loop {
            let said = [".note", ".proof", ".findings"].map(|place| self.text(place));
            if said.concat().contains(expected) {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{said:#?}");
        }
    }
}
