//! The page "Try it" of both books, built with the injector as WebAssembly and used in a real browser.

use crate::admission::{answer, patched, review};
use crate::browser::{Browser, Request};
use crate::http_server::serve;
use crate::program::Folder;
use crate::tools;
use admission::Hook;
use config::{Sources, load};
use serde_json::{Value, json};
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

/// The keys of WebDriver.
const RIGHT: &str = "\u{e014}";

/// The page in the browser.
struct Playground {
    browser: Browser,
    site: Site,
    language: &'static str,
}

impl Playground {
    fn open(&self) {
        self.browser.open(&self.address("playground"));
        self.wait();
    }

    fn address(&self, page: &str) -> String {
        format!("{}/{}/{page}.html", self.site.address, self.language)
    }

    fn wait(&self) {
        self.browser.wait_for("#playground .output");
    }

    fn run(&self, script: &str, arguments: &Value) -> Value {
        self.browser.run(script, arguments)
    }

    /// Returns the text of an element, or the value of a field; empty if there is none.
    fn text(&self, selector: &str) -> String {
        let script = "const found = document.querySelector(arguments[0]);
            return typeof found?.value === 'string' ? found.value : found?.textContent ?? ''";
        let text = self.run(script, &json!([selector]));
        text.as_str().unwrap().to_owned()
    }

    /// Returns the lines of the result.
    fn shown(&self) -> String {
        let script = "return [...document.querySelectorAll('.output > span')].map(line => `${line.textContent}\\n`).join('')";
        let text = self.run(script, &json!([]));
        text.as_str().unwrap().to_owned()
    }

    /// True for what a user sees.
    fn is_visible(&self, selector: &str) -> bool {
        let script = "return document.querySelector(arguments[0]).checkVisibility()";
        self.run(script, &json!([selector])) == true
    }

    fn choose(&self, list: usize, value: &str) {
        let script = "const list = document.querySelectorAll('.controls select')[arguments[0]];
            list.value = arguments[1]; list.dispatchEvent(new Event('change'))";
        self.run(script, &json!([list, value]));
    }

    fn paste(&self, field: &str, text: &str) {
        let script = "const field = document.querySelector(arguments[0]);
            field.value = arguments[1]; field.dispatchEvent(new Event('input'))";
        self.run(script, &json!([field, text]));
    }

    fn click(&self, selector: &str) {
        let script = "document.querySelector(arguments[0]).click()";
        self.run(script, &json!([selector]));
    }

    /// Presses one of the buttons, which are counted from 0.
    fn act(&self, button: usize) {
        let script = "document.querySelectorAll('.actions button')[arguments[0]].click()";
        self.run(script, &json!([button]));
    }

    /// Returns what the program prints for the texts of the page.
    fn program(&self, arguments: &[&str]) -> String {
        let texts = [
            ("manifest.yaml", &*self.text(".manifest")),
            ("agent-injector.yaml", &*self.text(".configuration")),
        ];
        Folder::with(&texts).run(arguments).stdout
    }

    /// Returns the diff that the program prints, below the names of the file.
    fn diff_of_the_program(&self, command: &[&str]) -> String {
        let printed = self.program(&[command, &["--diff", "manifest.yaml"]].concat());
        printed.split_inclusive('\n').skip(2).collect()
    }

    fn says(&self, english: &str, japanese: &str) {
        let expected = if self.language == "ja" {
            japanese
        } else {
            english
        };
        let said = [".note", ".proof", ".findings"].map(|place| self.text(place));
        assert!(said.concat().contains(expected), "{said:?}");
    }
}

/// The lists above the texts.
const EXAMPLE: usize = 0;
const COMMAND: usize = 1;
/// The buttons beside them.
const TAKE: usize = 1;
const UNDO: usize = 2;
const COPY: usize = 3;

#[test]
fn the_page_shows_what_the_program_prints_and_sends_nothing() {
    if !tools::on_path(&["chromedriver"]) {
        return;
    }
    let Some(site) = site() else {
        return;
    };
    let mut page = Playground {
        browser: Browser::start(),
        site,
        language: "en",
    };
    for (language, width, height) in [("en", 1440, 900), ("ja", 400, 800)] {
        page.language = language;
        page.browser.resize(width, height);
        page.open();
        // Of the other language, whose page had the same tab.
        page.run("sessionStorage.clear()", &json!([]));
        page.open();

        each_example_is_what_the_program_prints(&page);
        an_error_has_its_place(&page);
        each_view_is_of_the_same_engine(&page);
        a_proof_is_computed(&page);
        switches_write_the_configuration(&page);
        the_page_fits(&page, width);
        nothing_covers_the_manifest(&page);
        what_is_typed_is_injected_and_stays(&page);
        a_link_has_the_texts_on_demand(&page);
        a_file_is_dropped(&page);
        a_hostile_text_is_an_error_and_the_page_goes_on(&page);
    }
    // Judged at the end: a font or an icon is loaded when the browser has time for it.
    let requests = page.browser.requests();
    let loaded = |suffix| {
        requests
            .iter()
            .any(|request| request.address.ends_with(suffix))
    };
    assert!(loaded(".wasm") && loaded("page.js"), "{requests:?}");
    let others: Vec<&Request> = requests
        .iter()
        .filter(|request| !page.site.is_a_file(request))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

fn each_example_is_what_the_program_prints(page: &Playground) {
    let script = "return [...document.querySelectorAll('.controls select')[0].options].map(option => option.value)";
    let names = page.run(script, &json!([]));
    let names: Vec<&str> = names
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        if matches!(name, "" | "refused") {
            continue;
        }
        page.choose(EXAMPLE, name);
        let command: &[&str] = match name {
            "by-hand" => &["inject", "--adopt"],
            _ => &["inject"],
        };
        let diff = page.shown();
        assert!(
            diff.contains("name: mackerel-container-agent\n"),
            "{name}: {diff}"
        );
        assert_eq!(diff, page.diff_of_the_program(command), "{name}");
        assert!(!page.text(".findings").is_empty(), "{name}");
    }
    // The warning of one of them is in the language of the book.
    page.choose(EXAMPLE, "host-network");
    assert!(
        page.text(".findings .warning a")
            .starts_with("warning[host-network]")
    );
    page.browser.wait_for(match page.language {
        "ja" => ".findings .warning strong",
        _ => ".findings .warning",
    });
    page.says("host network", "Pod がホストのネットワークを使って");
}

/// In place of the result, with a link to its line, which is marked.
fn an_error_has_its_place(page: &Playground) {
    page.choose(EXAMPLE, "refused");
    assert_eq!(page.shown(), "");
    assert!(!page.is_visible(".output"));
    assert!(
        page.text(".findings .error")
            .starts_with("error[uneditable]")
    );
    page.says("Nothing is changed: 1 error.", "エラーが 1 件あります。");
    page.click(".findings .error button");
    let selected = "const field = document.activeElement; return field.value.slice(field.selectionStart, field.selectionEnd)";
    assert_eq!(
        page.run(selected, &json!([])),
        "      containers: *containers"
    );
    let marked = "const [mark, field] = ['.marks .error', '.manifest'].map(name => document.querySelector(`#manifest ${name}`));
        const line = field.value.slice(0, field.selectionStart).split('\\n').length;
        return Math.round((mark.getBoundingClientRect().top - field.getBoundingClientRect().top + field.scrollTop - 8) / 19) + 1 === line";
    assert_eq!(page.run(marked, &json!([])), true);

    page.choose(EXAMPLE, "deployment");
    let valid = page.text(".configuration");
    page.paste(".configuration", &valid.replace("roles", "rolls"));
    let error = page.text(".findings .error");
    assert!(
        error.contains("unknown setting `agent.rolls`")
            && error.contains("agent-injector.yaml:5:5"),
        "{error}"
    );
    assert_eq!(page.shown(), "");
    page.click(".findings .error button");
    assert_eq!(page.run(selected, &json!([])), "    rolls: [\"shop:web\"]");
    page.paste(".configuration", &valid);
    assert!(page.shown().contains("shop:web"));
}

fn each_view_is_of_the_same_engine(page: &Playground) {
    page.choose(EXAMPLE, "list");
    page.click("#tab-patch");
    let values = |text: &str| -> Vec<Value> {
        let values = serde_json::Deserializer::from_str(text).into_iter();
        values.map(Result::unwrap).collect()
    };
    let printed = page.program(&["inject", "--output", "patch", "manifest.yaml"]);
    assert_eq!(values(&page.shown()).len(), 2);
    assert_eq!(values(&page.shown()), values(&printed));

    // The Pod of the second template.
    page.click("#tab-webhook");
    let script = "const list = document.querySelector('.templates select'); list.value = 1; list.dispatchEvent(new Event('change'))";
    page.run(script, &json!([]));
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"labels": {"app": "api"}, "generateName": "api-", "namespace": "default"},
        "spec": {"containers": [{"name": "api", "image": "api:1"}]}});
    let configuration = page.text(".configuration");
    let config = load(&Sources::of_text("agent-injector.yaml", &configuration)).unwrap();
    let (_, expected) = answer(Hook::Mutate, &review(&pod), &config);
    let mut shown = values(&page.shown()).remove(0)["response"].take();
    let patch = shown["patch"].take();
    assert_eq!(shown["allowed"], true);
    assert_eq!(
        patched(
            &pod,
            &json!({"patchType": "JSONPatch", "patch": base64(&patch)})
        ),
        patched(&pod, &expected)
    );
    page.says(
        "The Pod gets the container of the diff. Only volumeMounts differs",
        "Pod に入るコンテナは diff と同じです。",
    );

    page.click("#tab-policy");
    assert_eq!(page.shown(), page.program(&["policy"]));
    page.click("#tab-diff");
}

/// A JSON value as an API server receives a patch.
fn base64(value: &Value) -> Value {
    serde_json::to_value(k8s_openapi::ByteString(value.to_string().into_bytes())).unwrap()
}

fn a_proof_is_computed(page: &Playground) {
    page.choose(EXAMPLE, "deployment");
    let manifest = page.text(".manifest");
    let injected = page.program(&["inject", "manifest.yaml"]);
    let inserted = injected.len() - manifest.len();
    let inserted = format!("{},{:03}", inserted / 1000, inserted % 1000);
    page.says(
        &format!("{inserted} bytes inserted, none of yours removed. uninject gives your file back, byte for byte."),
        &format!("{inserted} バイトを挿入。元のバイトは 1 つも削除していません。 uninject で元のファイルに 1 バイトも違わず戻ります。"),
    );

    // The result as manifest, with another configuration, and back.
    page.act(TAKE);
    assert_eq!(page.text(".manifest"), injected);
    page.says("No change.", "変更はありません。");
    let configuration = page.text(".configuration");
    page.paste(
        ".configuration",
        &configuration.replace("shop:web", "shop:front"),
    );
    page.says(
        "Without the agent, the file is the same before and after",
        "エージェントを除けば、前後のファイルは 1 バイトも違いません。",
    );
    page.choose(COMMAND, "uninject");
    assert_eq!(page.shown(), page.diff_of_the_program(&["uninject"]));
    page.act(TAKE);
    assert_eq!(page.text(".manifest"), manifest);
    page.act(UNDO);
    assert_eq!(page.text(".manifest"), injected);
    page.paste(".configuration", &configuration);

    page.choose(EXAMPLE, "by-hand");
    page.says(
        "uninject does not bring it back",
        "uninject では元に戻りません",
    );
    page.choose(EXAMPLE, "deployment");
}

fn switches_write_the_configuration(page: &Playground) {
    let set = "const input = document.querySelectorAll('.settings input')[arguments[0]];
        if (input.type === 'checkbox') input.checked = arguments[1]; else input.value = arguments[1];
        input.dispatchEvent(new Event('change'))";
    let before = page.text(".configuration");
    page.paste(".configuration", &format!("# Of the shop.\n{before}"));
    for (switch, value, line, effect) in [
        (
            0,
            json!("shop:web, shop:db"),
            "      - shop:web\n      - shop:db\n",
            "shop:web,shop:db",
        ),
        (
            4,
            json!("agent:2"),
            "    image: agent:2\n",
            "image: agent:2",
        ),
        (
            3,
            json!(true),
            "    insecureTLS: true\n",
            "KUBELET_INSECURE_TLS",
        ),
        (2, json!(true), "  sidecar: native\n", "initContainers"),
        (1, json!(true), "  injection: annotated\n", ""),
    ] {
        page.run(set, &json!([switch, value]));
        let configuration = page.text(".configuration");
        assert!(
            configuration.starts_with("# Of the shop.\n") && configuration.contains(line),
            "{configuration}"
        );
        assert!(page.shown().contains(effect), "{}", page.shown());
        assert_eq!(page.shown(), page.diff_of_the_program(&["inject"]));
    }
    // Without a request by annotation, nothing is injected.
    assert_eq!(page.shown(), "");
    for (switch, value) in [
        (1, json!(false)),
        (2, json!(false)),
        (3, json!(false)),
        (4, json!("")),
        (0, json!("")),
    ] {
        page.run(set, &json!([switch, value]));
    }
    assert_eq!(page.text(".findings .error"), "");
    assert!(page.shown().contains("mackerel-container-agent"));
    page.paste(".configuration", "a: [");
    page.run(set, &json!([1, true]));
    page.says(
        "Correct its text first",
        "先に設定のテキストを直してください",
    );
    page.paste(".configuration", &before);
}

fn the_page_fits(page: &Playground, width: u32) {
    let script = "return document.documentElement.scrollWidth";
    assert!(page.run(script, &json!([])).as_u64().unwrap() <= u64::from(width));
    let is_narrow = width < 500;
    assert_eq!(page.is_visible("#tab-result"), is_narrow);
    assert_eq!(page.is_visible(".output"), !is_narrow);
    if is_narrow {
        page.click("#tab-result");
        assert!(page.is_visible(".output") && !page.is_visible(".manifest"));
    }
    // By the keyboard.
    page.run(
        "document.querySelector('#tab-manifest').focus()",
        &json!([]),
    );
    page.browser.press(RIGHT);
    assert!(page.is_visible(".configuration") && !page.is_visible(".manifest"));
    page.click("#tab-manifest");
    assert!(page.is_visible(".manifest"));
}

/// Neither arrows nor keys of the book lead to another page.
fn nothing_covers_the_manifest(page: &Playground) {
    let script = "const field = document.querySelector('.manifest'); field.scrollIntoView({block: 'center'});
        const {left, right, top, bottom} = field.getBoundingClientRect();
        return [left + 3, right - 20, top + 3, Math.min(bottom, innerHeight) - 30].map(Math.round)";
    let edges = page.run(script, &json!([]));
    let [left, right, top, bottom] = [0, 1, 2, 3].map(|edge| edges[edge].as_i64().unwrap());
    let address = page.address("playground");
    for (x, y) in [(left, top), (left, bottom), (right, top), (right, bottom)] {
        page.run("document.activeElement.blur()", &json!([]));
        page.browser.click_at(x, y);
        let script = "return [document.activeElement.className, location.href]";
        assert_eq!(
            page.run(script, &json!([])),
            json!(["manifest", address]),
            "{x} {y}"
        );
    }
    page.click("#tab-result");
    for (focused, keys) in [
        ("#tab-diff", "s/?"),
        (".output", "s/?"),
        (".controls button", "s/?"),
        ("nothing", ""),
    ] {
        let script = "document.activeElement.blur(); document.querySelector(`#playground ${arguments[0]}`)?.focus()";
        page.run(script, &json!([focused]));
        page.browser.press(&format!("{keys}{RIGHT}"));
        assert_eq!(
            page.run("return location.href", &json!([])),
            address,
            "{focused}"
        );
    }
    page.click("#tab-diff");
    page.click("#tab-manifest");
}

fn what_is_typed_is_injected_and_stays(page: &Playground) {
    page.paste(".manifest", "");
    assert_eq!(page.shown(), "");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: typed}\nspec: {containers: [{name: web, image: 'web:1'}]}\n";
    page.browser.type_into(".manifest", pod);
    assert_eq!(page.text(".manifest"), pod);
    let diff = page.shown();
    assert!(diff.contains("mackerel-container-agent"), "{diff}");
    assert_eq!(diff, page.diff_of_the_program(&["inject"]));

    let stays = || {
        page.wait();
        assert_eq!(page.text(".manifest"), pod);
        assert_eq!(page.shown(), diff);
    };
    page.browser.reload();
    stays();
    page.click(".findings a");
    page.browser.wait_for("#injected");
    page.browser.back();
    stays();
    let other = if page.language == "ja" { "en" } else { "ja" };
    page.click(&format!("main a[href$='{other}/playground.html']"));
    page.browser.wait_for(&format!("html[lang={other}]"));
    stays();
    page.browser.back();
    page.browser
        .wait_for(&format!("html[lang={}]", page.language));
    stays();
    let address = page.run("return location.href", &json!([]));
    assert_eq!(address, page.address("playground"));
}

fn a_link_has_the_texts_on_demand(page: &Playground) {
    let pod = page.text(".manifest");
    page.paste(".configuration", "# 設定\n");
    let script = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: text => { window.copied = text }}}); return history.length";
    let entries = page.run(script, &json!([]));
    page.act(COPY);
    page.browser.wait_for(".note:not(:empty)");
    page.says(
        "everyone who has the link can read them",
        "リンクを知っている人は誰でも読めます",
    );
    let link = page.run("return window.copied", &json!([]));
    let link = link.as_str().unwrap();
    let script = "return [location.href, history.length]";
    assert_eq!(
        page.run(script, &json!([])),
        json!([page.address("playground"), entries])
    );

    // For somebody who has other texts.
    page.run("sessionStorage.clear()", &json!([]));
    page.browser.open(&page.address("introduction"));
    page.browser.open(link);
    page.wait();
    page.browser
        .wait_for("#playground .actions button:nth-of-type(3):enabled");
    assert_eq!(
        (page.text(".manifest"), page.text(".configuration")),
        (pod, "# 設定\n".to_owned())
    );
    let address = page.run("return location.href", &json!([]));
    assert_eq!(address, page.address("playground"));
    page.act(UNDO);
    assert!(page.text(".manifest").contains("web:1.27"));

    page.browser
        .open(&format!("{}#texts=broken", page.address("playground")));
    page.browser.wait_for(".note:not(:empty)");
    page.says("The link is damaged", "リンクが壊れているため");
    // Text that cannot be compressed.
    let noise = "let state = 1; return Array.from({length: 20000}, () => String.fromCharCode(33 + (state = state * 48271 % 2147483647) % 90)).join('')";
    let noise = page.run(noise, &json!([]));
    page.paste(".manifest", noise.as_str().unwrap());
    page.run(
        "document.querySelector('.note').replaceChildren()",
        &json!([]),
    );
    page.act(COPY);
    page.browser.wait_for(".note:not(:empty)");
    page.says("The limit is 8,000: shorten", "上限の 8,000 文字を超えます");
    page.choose(EXAMPLE, "deployment");
}

fn a_file_is_dropped(page: &Playground) {
    let script = "const data = new DataTransfer();
        data.items.add(new File([arguments[1]], arguments[0]));
        document.querySelector('.manifest').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))";
    page.run(script, &json!(["agent-injector.yaml", "# dropped\n"]));
    page.run(script, &json!(["pod.yaml", "kind: Pod # dropped\n"]));
    let both = "return document.querySelector('.manifest').value + document.querySelector('.configuration').value === 'kind: Pod # dropped\\n# dropped\\n'
        ? document.body.classList.add('dropped') : 0";
    for _ in 0..200 {
        page.run(both, &json!([]));
    }
    page.browser.wait_for("body.dropped");
    page.run(script, &json!(["large.yaml", "#".repeat(1_000_001)]));
    page.browser.wait_for(".note:not(:empty)");
    page.says(
        "The command line has none",
        "コマンドラインには上限はありません",
    );
    page.paste(".configuration", "");
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
        page.paste(".configuration", &deep);
        assert!(!page.text(".findings .error").is_empty());
        page.paste(".configuration", "");
    }
    // Text of a manifest is no HTML.
    page.paste(
        ".manifest",
        &format!("{head}\n  <img src=x>: *<img_src=x>\n"),
    );
    let images = page.run(
        "return document.querySelectorAll('#playground img').length",
        &json!([]),
    );
    assert_eq!(images, 0);
    page.choose(EXAMPLE, "deployment");
    assert!(page.shown().contains("name: mackerel-container-agent"));
}
