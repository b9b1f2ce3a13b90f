//! A null gives way to a collection, and comes back.

use super::{given, patch, visible};
use mackerel_agent_injector::edit;
use mackerel_agent_injector::internals::splice::{Spelling, gave_way, splice};
use mackerel_agent_injector::internals::yaml;
use mackerel_agent_injector::patcher::Refusal;
use serde_json::{Value, json};

fn filled_and_restored(text: &str, path: &str, value: Value, expected: &str) {
    let tree = yaml::read(text).unwrap();
    let root = tree.root().unwrap();
    let node = tree.get(root, path.trim_start_matches('/')).unwrap();
    let raw = gave_way(&tree, root, node);
    given(text).add(path, value).gives(expected);
    let filled = yaml::read(expected).unwrap();
    let null = patch(json!([{"op": "replace", "path": path, "value": null}]));
    let spelling = Spelling { pointer: path.to_owned(), raw };
    let restored = splice(&filled, &null, &[spelling]).unwrap();
    let back = edit::apply(expected, &restored.edits);
    assert_eq!(visible(&back), visible(text));
    restored.verify(&filled, &yaml::read(&back).unwrap()).unwrap();
}

#[test]
fn a_null_gives_way_and_comes_back() {
    filled_and_restored("a:\nb: 1\n", "/a", json!({"c": 1}), "a:\n  c: 1\nb: 1\n");
    filled_and_restored("a: null # why\nb: 1\n", "/a", json!({"c": 1}), "a: # why\n  c: 1\nb: 1\n");
    filled_and_restored("a:  ~\nb: 1\n", "/a", json!([{"c": 1}]), "a:\n  - c: 1\nb: 1\n");
    filled_and_restored("b: 1\na: ~", "/a", json!({"c": 1}), "b: 1\na:\n  c: 1");
    filled_and_restored("a:\n  # deeper\nb: 1\n", "/a", json!({"c": 1}), "a:\n  c: 1\n  # deeper\nb: 1\n");
    filled_and_restored("{\"a\": null}", "/a", json!({"c": 1}), "{\"a\": {\"c\": 1}}");
    filled_and_restored("{\n  \"a\":null\n}", "/a", json!(["c"]), "{\n  \"a\":[\n    \"c\"\n  ]\n}");
    filled_and_restored("{a: , b: 1}", "/a", json!({"c": 1}), "{a: {c: 1} , b: 1}");
    filled_and_restored("{a, b: 1}", "/a", json!({"c": 1}), "{a: {c: 1}, b: 1}");
    filled_and_restored("{\"a\" : ~ , \"b\": 1}", "/a", json!(["c"]), "{\"a\" : [\"c\"] , \"b\": 1}");
    filled_and_restored("{\"a\": # why\n  null}", "/a", json!(["c"]), "{\"a\": # why\n  [\"c\"]}");
    filled_and_restored("a: !!null\nb: 1\n", "/a", json!({"c": 1}), "a:\n  c: 1\nb: 1\n");
}

/// Another tool made JSON of YAML, or the other way round, before the null came back.
#[test]
fn a_null_comes_back_in_another_style() {
    for (was, now, back) in [
        ("a: ~\n", "{\"a\": [1]}", "{\"a\": null}"),
        ("a:\n", "{\"a\":[1]}", "{\"a\":null}"),
        ("a: !!null\n", "{a: [1], b: 2}", "{a: null, b: 2}"),
        ("{\"a\":null}", "{a: [1], b: 2}", "{a: null, b: 2}"),
        ("{\"a\": ~}", "a:\n- 1\n", "a: ~\n"),
        ("{a:}", "a:\n- 1\nb: 2\n", "a:\nb: 2\n"),
        ("{a}", "a: [1]\n", "a:\n"),
    ] {
        let (tree, filled) = (yaml::read(was).unwrap(), yaml::read(now).unwrap());
        let root = tree.root().unwrap();
        let raw = gave_way(&tree, root, tree.get(root, "a").unwrap());
        let null = patch(json!([{"op": "replace", "path": "/a", "value": null}]));
        let restored = splice(&filled, &null, &[Spelling { pointer: "/a".to_owned(), raw }]).unwrap();
        assert_eq!(edit::apply(now, &restored.edits), back, "{was}");
    }
}

#[test]
fn a_null_on_a_line_of_its_own_is_left_alone() {
    given("a:\n  null\n").add("/a", json!({"b": 1})).refuses(Refusal::OddNull);
}
