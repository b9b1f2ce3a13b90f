//! A collection replaces a null, and its removal restores the null.

use super::{given, visible};
use serde_json::{Value, json};
use yaml_json_patch::edit;
use yaml_json_patch::json_patch::jsonptr::PointerBuf;
use yaml_json_patch::{
    self as yaml, Cache, ErrorKind, NullSource, Operation, null_source, splice, verify,
};

fn restore(path: &str, source: NullSource) -> Vec<Operation> {
    vec![Operation::RestoreNull {
        path: PointerBuf::parse(path).unwrap(),
        source,
    }]
}

fn filled_and_restored(text: &str, path: &str, value: Value, expected: &str) {
    let tree = yaml::read(text).unwrap();
    let root = tree.root().unwrap();
    let node = tree.get(root, path.trim_start_matches('/')).unwrap();
    let source = null_source(&tree, root, node);
    given(text).add(path, value).gives(expected);
    let filled = yaml::read(expected).unwrap();
    let cache = Cache::default();
    let restored = splice(&filled, restore(path, source), &cache).unwrap();
    let back = edit::apply(expected, &restored.edits);
    assert_eq!(visible(&back), visible(text));
    verify(&filled, &restored, &yaml::read(&back).unwrap(), &cache).unwrap();
}

#[test]
fn a_null_gives_way_and_comes_back() {
    filled_and_restored("a:\nb: 1\n", "/a", json!({"c": 1}), "a:\n  c: 1\nb: 1\n");
    filled_and_restored(
        "a: null # why\nb: 1\n",
        "/a",
        json!({"c": 1}),
        "a: # why\n  c: 1\nb: 1\n",
    );
    filled_and_restored(
        "a:  ~\nb: 1\n",
        "/a",
        json!([{"c": 1}]),
        "a:\n  - c: 1\nb: 1\n",
    );
    filled_and_restored("b: 1\na: ~", "/a", json!({"c": 1}), "b: 1\na:\n  c: 1");
    filled_and_restored(
        "a:\n  # deeper\nb: 1\n",
        "/a",
        json!({"c": 1}),
        "a:\n  c: 1\n  # deeper\nb: 1\n",
    );
    filled_and_restored(
        "{\"a\": null}",
        "/a",
        json!({"c": 1}),
        "{\"a\": {\"c\": 1}}",
    );
    filled_and_restored(
        "{\n  \"a\":null\n}",
        "/a",
        json!(["c"]),
        "{\n  \"a\":[\n    \"c\"\n  ]\n}",
    );
    filled_and_restored(
        "a: # why\n  # not\n  ~ # yet\nb: [1]\nc: [2]\n",
        "/a",
        json!([3]),
        "a: # why\n  # not\n  [3] # yet\nb: [1]\nc: [2]\n",
    );
    filled_and_restored("{a: , b: 1}", "/a", json!({"c": 1}), "{a: {c: 1} , b: 1}");
    filled_and_restored("{a, b: 1}", "/a", json!({"c": 1}), "{a: {c: 1}, b: 1}");
    filled_and_restored(
        "{\"a\" : ~ , \"b\": 1}",
        "/a",
        json!(["c"]),
        "{\"a\" : [\"c\"] , \"b\": 1}",
    );
    filled_and_restored(
        "{\"a\": # why\n  null}",
        "/a",
        json!(["c"]),
        "{\"a\": # why\n  [\"c\"]}",
    );
    filled_and_restored(
        "a: !!null\nb: 1\n",
        "/a",
        json!({"c": 1}),
        "a:\n  c: 1\nb: 1\n",
    );
}

/// Another tool has printed the mapping in between.
#[test]
fn a_null_comes_back_in_the_style_that_it_had() {
    for (original, printed, expected) in [
        ("a: ~\n", "a: [1]\n", Ok("a: ~\n")),
        ("{\"a\":null}", "{a: [1], b: 2}", Ok("{a: null, b: 2}")),
        ("{a}", "{a: [1], b: 2}", Ok("{a, b: 2}")),
        ("a:\n  null\n", "a:\n- 1\n", Ok("a:\n  null\n")),
        ("a: ~\n", "a: # why\n  [1]\n", Ok("a: ~ # why\n")),
        (
            "a: # why\n  ~\n",
            "a: # why\n    [1]\n",
            Ok("a: # why\n  ~\n"),
        ),
        ("a: ~\n", "{\"a\": [1]}", Err(ErrorKind::Layout)),
        ("{\"a\": ~}", "a:\n- 1\n", Err(ErrorKind::Layout)),
        ("{a}", "a: [1]\n", Err(ErrorKind::Layout)),
    ] {
        let (tree, filled) = (yaml::read(original).unwrap(), yaml::read(printed).unwrap());
        let root = tree.root().unwrap();
        let source = null_source(&tree, root, tree.get(root, "a").unwrap());
        let restored = splice(&filled, restore("/a", source), &Cache::default());
        let back = restored
            .map(|spliced| edit::apply(printed, &spliced.edits))
            .map_err(|error| error.kind);
        assert_eq!(back, expected.map(str::to_owned), "{original}");
    }
}

#[test]
fn a_null_on_a_line_of_its_own_is_filled_but_for_one_behind_a_comment() {
    given("a:\n  null\n")
        .add("/a", json!({"b": 1}))
        .gives("a:\n  b: 1\n");
    given("a:\n  # none\n  null\n")
        .add("/a", json!({"b": 1}))
        .refuses(ErrorKind::OddNull);
}

/// `c` means 1. With the anchor of the null it would mean null.
#[test]
fn a_null_whose_anchor_takes_an_alias_is_no_result() {
    let text = "a: &x 1\nb:\n- 2\nc: *x\n";
    let tree = yaml::read(text).unwrap();
    let cache = Cache::default();
    let null = NullSource::Block(" &x ~".to_owned());
    let restored = splice(&tree, restore("/b", null), &cache).unwrap();
    let back = edit::apply(text, &restored.edits);
    assert_eq!(back, "a: &x 1\nb: &x ~\nc: *x\n");
    assert!(verify(&tree, &restored, &yaml::read(&back).unwrap(), &cache).is_err());
}
