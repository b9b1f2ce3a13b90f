//! The page "Try it" of both books, built with the injector as WebAssembly and used in a real browser.

mod page;

use crate::admission::{answer, patched, review};
use crate::browser::{Browser, Request};
use crate::tools;
use admission::Hook;
use config::{Sources, load};
use page::{Playground, site};
use serde_json::{Value, json};

/// The right arrow, as WebDriver writes it.
const RIGHT: &str = "\u{e014}";

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
        // The page of the other language had texts in the same tab.
        page.forget();
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
    page.browser.open(&page.address("print"));
    assert!(page.text("#playground").contains("docs/playground/build"));

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
        page.text(".findings .severity-warning a")
            .starts_with("warning[host-network]")
    );
    page.says("host network", "Pod がホストのネットワークを使って");
}

/// In place of the result, with a link to its line, which is marked.
fn an_error_has_its_place(page: &Playground) {
    page.choose(EXAMPLE, "refused");
    assert_eq!(page.shown(), "");
    assert!(!page.is_visible(".output"));
    assert!(
        page.text(".findings .severity-error")
            .starts_with("error[uneditable]")
    );
    page.says("Nothing is changed: 1 error.", "エラーが 1 件あります。");
    page.click(".findings .severity-error button");
    let selected = "const field = document.activeElement; return field.value.slice(field.selectionStart, field.selectionEnd)";
    assert_eq!(
        page.run(selected, &json!([])),
        "      containers: *containers"
    );
    let marked = "const [mark, field] = ['.marks .severity-error', '.manifest'].map(name => document.querySelector(`#manifest ${name}`));
        const line = field.value.slice(0, field.selectionStart).split('\\n').length;
        return Math.round((mark.getBoundingClientRect().top - field.getBoundingClientRect().top + field.scrollTop - 8) / 19) + 1 === line";
    assert_eq!(page.run(marked, &json!([])), true);

    page.choose(EXAMPLE, "deployment");
    let valid = page.text(".configuration");
    page.paste(".configuration", &valid.replace("roles", "rolls"));
    let error = page.text(".findings .severity-error");
    assert!(
        error.contains("unknown setting `agent.rolls`")
            && error.contains("agent-injector.yaml:5:5"),
        "{error}"
    );
    assert_eq!(page.shown(), "");
    page.click(".findings .severity-error button");
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
    assert_eq!(page.text(".findings .severity-error"), "");
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

    // The link replaces the texts that the page begins with.
    page.forget();
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
    page.says("The link is damaged", "リンクが壊れているため");
    // Text that cannot be compressed.
    let noise = "let state = 1; return Array.from({length: 20000}, () => String.fromCharCode(33 + (state = state * 48271 % 2147483647) % 90)).join('')";
    let noise = page.run(noise, &json!([]));
    page.paste(".manifest", noise.as_str().unwrap());
    page.act(COPY);
    page.says("The limit is 8,000: shorten", "上限の 8,000 文字を超えます");
    page.choose(EXAMPLE, "deployment");
}

fn a_file_is_dropped(page: &Playground) {
    let script = "const data = new DataTransfer();
        data.items.add(new File([arguments[1]], arguments[0]));
        document.querySelector('.manifest').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))";
    page.run(script, &json!(["agent-injector.yaml", "# dropped\n"]));
    page.run(script, &json!(["pod.yaml", "kind: Pod # dropped\n"]));
    let both = "setInterval(() => {
            const texts = ['.manifest', '.configuration'].map(name => document.querySelector(name).value);
            document.body.classList.toggle('dropped', texts.join('') === 'kind: Pod # dropped\\n# dropped\\n');
        }, 20)";
    page.run(both, &json!([]));
    page.browser.wait_for("body.dropped");
    page.run(script, &json!(["large.yaml", "#".repeat(1_000_001)]));
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
        let error = page.text(".findings .severity-error");
        assert!(error.starts_with("error["), "{error}");
        page.paste(".configuration", &deep);
        assert!(!page.text(".findings .severity-error").is_empty());
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
