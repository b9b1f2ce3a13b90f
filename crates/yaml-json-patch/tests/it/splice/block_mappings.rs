//! Mappings in block style.

use super::given;
use serde_json::{Value, json};
use yaml_json_patch::ErrorKind;

#[test]
fn a_member_goes_after_the_last_one() {
    given("a: 1\nb:\n  c: 2 # two\n  # deeper\n# flush\nd: 3\n")
        .add("/b/x", json!("w"))
        .gives("a: 1\nb:\n  c: 2 # two\n  x: w\n  # deeper\n# flush\nd: 3\n")
        .and_without(&["/b/x"]);
    given("a: 1\nb:\n  c: 2 # two\n    # deeper\n# flush\n")
        .add("/b/x", json!("w"))
        .gives("a: 1\nb:\n  c: 2 # two\n    # deeper\n  x: w\n# flush\n")
        .and_without(&["/b/x"]);
}

#[test]
fn the_reviewers_picture_indented_and_flush() {
    let agent = json!({"name": "agent", "env": [{"name": "A", "value": "0"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}], "securityContext": {"capabilities": {"drop": ["ALL"]}, "runAsUser": 65532}});
    let operations = |agent: Value| {
        json!([
            {"op": "add", "path": "/template/metadata/annotations", "value": {"example.com/status": "injected"}},
            {"op": "add", "path": "/template/spec/containers/-", "value": agent},
            {"op": "add", "path": "/template/spec/volumes", "value": [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}]},
        ])
    };
    given(
        "\
template:
  metadata:
    labels:
      app: web
  spec:
    containers:
      - name: web          # the app
        image: \"web:1\"
",
    )
    .patched_with(operations(agent.clone()))
    .gives(
        "\
template:
  metadata:
    labels:
      app: web
    annotations:
      example.com/status: injected
  spec:
    containers:
      - name: web          # the app
        image: \"web:1\"
      - name: agent
        env:
          - name: A
            value: \"0\"
          - name: B
            valueFrom:
              fieldRef:
                fieldPath: status.hostIP
        securityContext:
          capabilities:
            drop:
              - ALL
          runAsUser: 65532
    volumes:
      - name: tmp
        emptyDir:
          sizeLimit: 64Mi
",
    )
    .and_without(&[
        "/template/spec/volumes",
        "/template/spec/containers/1",
        "/template/metadata/annotations",
    ]);
    given(
        "\
template:
  metadata:
    labels:
      app: web
  spec:
    containers:
    - name: web
      image: \"web:1\"
",
    )
    .patched_with(operations(agent))
    .gives(
        "\
template:
  metadata:
    labels:
      app: web
    annotations:
      example.com/status: injected
  spec:
    containers:
    - name: web
      image: \"web:1\"
    - name: agent
      env:
      - name: A
        value: \"0\"
      - name: B
        valueFrom:
          fieldRef:
            fieldPath: status.hostIP
      securityContext:
        capabilities:
          drop:
          - ALL
        runAsUser: 65532
    volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
",
    )
    .and_without(&[
        "/template/spec/volumes",
        "/template/spec/containers/1",
        "/template/metadata/annotations",
    ]);
}

#[test]
fn indentation_by_four() {
    given("a:\n    b:\n        - c\n")
        .patched_with(json!([
            {"op": "add", "path": "/a/x", "value": {"w": {"z": 1}}},
            {"op": "add", "path": "/a/l", "value": [{"m": 1, "o": 2}]},
        ]))
        .gives(
            "a:\n    b:\n        - c\n    x:\n        w:\n            z: 1\n    l:\n        - m: 1\n          o: 2\n",
        )
        .and_without(&["/a/x", "/a/l"]);
}

#[test]
fn keys_in_quotes_and_with_a_space_before_the_colon() {
    given("\"a\" :\n  'b' : 1\n")
        .add("/a/c", json!({}))
        .gives("\"a\" :\n  'b' : 1\n  c: {}\n")
        .and_without(&["/a/c"]);
}

#[test]
fn members_are_removed() {
    given("a: 1\n# about b\nb: 2 # two\nc: 3\n")
        .remove("/b")
        .gives("a: 1\n# about b\nc: 3\n");
    given("- a: 1\n  b: 2\n").remove("/0/a").gives("- b: 2\n");
    given("- a: 1 # one\n  # about b\n  b: 2\n")
        .remove("/0/a")
        .gives("-\n  # about b\n  b: 2\n");
    given("- a: 1 # one\n").remove("/0/a").gives("- {} # one\n");
    given("k:\n  a: 1\nn: 1\n")
        .remove("/k/a")
        .gives("k: {}\nn: 1\n");
    given("a: 1\n").remove("/a").gives("{}\n");
}

#[test]
fn all_members_go_and_others_come() {
    given("- a: 1\n  b: 2\n- z\n")
        .patched_with(json!([
            {"op": "remove", "path": "/0/a"}, {"op": "remove", "path": "/0/b"},
            {"op": "add", "path": "/0/c", "value": 3}, {"op": "add", "path": "/0/d", "value": 4},
        ]))
        .gives("- {c: 3, d: 4}\n- z\n");
    given("k:\n  a: 1\n")
        .patched_with(
            json!([{"op": "remove", "path": "/k/a"}, {"op": "add", "path": "/k/c", "value": 3}]),
        )
        .gives("k:\n  c: 3\n");
}

#[test]
fn values_are_replaced() {
    given("a:   1   # one\nb: x\n")
        .replace("/a", json!("2"))
        .gives("a:   \"2\"   # one\nb: x\n");
    given("a: >\n  long\n  text\nb: x\n")
        .replace("/a", json!(true))
        .gives("a: true\nb: x\n");
    given("a: \"x\n  y\"\nb: x\n")
        .replace("/a", json!("z"))
        .gives("a: \"z\"\nb: x\n");
    given("a:\n  - 1\n  - 2\nb: x\n")
        .replace("/a", json!("z"))
        .gives("a: z\nb: x\n");
    given("a: # why\n  - 1\nb: x\n")
        .replace("/a", json!({"k": {"l": 1}}))
        .gives("a: # why\n  k:\n    l: 1\nb: x\n");
    given("a: 5 # why\nb: x\n")
        .replace("/a", json!({"k": {"l": 1}}))
        .gives("a: # why\n  k:\n    l: 1\nb: x\n");
    given("a:\n  5\nb: x\n")
        .replace("/a", json!({"k": {"l": 1}}))
        .gives("a:\n  k:\n    l: 1\nb: x\n");
    given("a:\nb: x\n")
        .replace("/a", json!(5))
        .gives("a: 5\nb: x\n");
    given("a: &x 1\nb: x\n")
        .replace("/a", json!(5))
        .gives("a: &x 5\nb: x\n");
    given("a: !!str\nb: x\n")
        .replace("/a", json!(5))
        .gives("a: 5\nb: x\n");
}

#[test]
fn members_are_moved_and_copied() {
    given("a:\n  x: [1, 'y']\nb: {}\n")
        .patched_with(
            json!([{"op": "move", "from": "/a/x", "path": "/b/z"}, {"op": "copy", "from": "/b", "path": "/c"}]),
        )
        .gives("a: {}\nb:\n  z: [1, 'y']\nc:\n  z: [1, 'y']\n");
}

#[test]
fn new_mappings_are_indented_as_most_of_those_around_them() {
    let new = json!({"m": {"o": 1}});
    given("a:\n  b:\n    l:\n    - d:\n       e: 1\n")
        .add("/a/b/l/-", new.clone())
        .gives("a:\n  b:\n    l:\n    - d:\n       e: 1\n    - m:\n        o: 1\n");
    given("a:\n    b:\n      c:\n        d: 1\n")
        .add("/a/b/c/k", new.clone())
        .gives("a:\n    b:\n      c:\n        d: 1\n        k:\n          m:\n            o: 1\n");
    given("a:\n    b:\n      c: 1\n")
        .add("/a/b/k", new)
        .gives("a:\n    b:\n      c: 1\n      k:\n        m:\n          o: 1\n");
}

#[test]
fn lists_in_a_new_item_are_written_as_most_of_those_in_other_items() {
    given("l:\n- a:\n    - 1\n- a:\n  - 1\n  b:\n  - 1\n")
        .add("/l/-", json!({"c": [{"d": 1}]}))
        .gives("l:\n- a:\n    - 1\n- a:\n  - 1\n  b:\n  - 1\n- c:\n  - d: 1\n");
    given("l:\n- a:\n    - 1\n  b:\n  - 1\n  - 2\n")
        .add("/l/-", json!({"c": [{"d": 1}]}))
        .gives("l:\n- a:\n    - 1\n  b:\n  - 1\n  - 2\n- c:\n  - d: 1\n");
}

#[test]
fn deeper_collections_do_not_show_in_a_new_item() {
    given("l:\n- a:\n    b:\n      -   c\n")
        .add("/l/-", json!({"d": [{"e": 1}]}))
        .gives("l:\n- a:\n    b:\n      -   c\n- d:\n  - e: 1\n");
    for length in [1, 9] {
        let text = format!("l:\n- a:\n   k: {}\n  b:\n    k: 1\n", "c".repeat(length));
        given(&text)
            .add("/l/-", json!({"d": {"e": 1}}))
            .gives(&format!("{text}- d:\n    e: 1\n"));
    }
}

#[test]
fn lists_of_words_are_in_brackets_where_others_are() {
    let new = json!({"m": ["ALL"], "n": ["a b: c"]});
    given("a: [b]\nc:\n  d: 1\n")
        .add("/c/k", new.clone())
        .gives("a: [b]\nc:\n  d: 1\n  k:\n    m: [ALL]\n    \"n\":\n      - \"a b: c\"\n")
        .and_without(&["/c/k"]);
    given("a: {b: [c], d: []}\n")
        .add("/k", new.clone())
        .gives("a: {b: [c], d: []}\nk:\n  m:\n    - ALL\n  \"n\":\n    - \"a b: c\"\n")
        .and_without(&["/k"]);
    given("- a: [b]\n- c: 1\n")
        .add("/1/k", new)
        .gives("- a: [b]\n- c: 1\n  k:\n    m:\n    - ALL\n    \"n\":\n    - \"a b: c\"\n")
        .and_without(&["/1/k"]);
}

#[test]
fn a_new_list_is_written_as_the_longest_beside_it() {
    given("s:\n  a:\n    b:\n      - 1\n  l:\n  - 1\n  - 2\n")
        .add("/s/v", json!([{"c": {}}]))
        .gives("s:\n  a:\n    b:\n      - 1\n  l:\n  - 1\n  - 2\n  v:\n  - c: {}\n");
    given("s:\n  a:\n  - 1\n  l:\n    - 1\n    - 2\n")
        .add("/s/v", json!([{"c": {}}]))
        .gives("s:\n  a:\n  - 1\n  l:\n    - 1\n    - 2\n  v:\n    - c: {}\n");
}

#[test]
fn what_stands_in_the_items_of_a_list_does_not_make_it_longer() {
    for value in ["1", "a value of many bytes"] {
        let text = format!("s:\n  a:\n  - b: 1\n  l:\n    - b: {value}\n");
        given(&text)
            .add("/s/v", json!([{"c": {}}]))
            .gives(&format!("{text}  v:\n  - c: {{}}\n"));
    }
}

/// A key is named as YAML 1.1 reads it, or else as it is written.
#[test]
fn a_key_is_named_as_it_is_read_or_as_it_is_written() {
    let text = "on: push\nx: {y: 2, 0644: m}\n";
    for name in ["/on", "/true"] {
        given(text)
            .add(name, json!("pull"))
            .gives("on: pull\nx: {y: 2, 0644: m}\n");
        given(text).remove(name).gives("x: {y: 2, 0644: m}\n");
        given(text)
            .patched_with(json!([{"op": "test", "path": name, "value": "push"}]))
            .gives(text);
        given(text)
            .patched_with(json!([
                {"op": "remove", "path": name},
                {"op": "add", "path": name, "value": 1},
                {"op": "replace", "path": name, "value": 2},
            ]))
            .gives(&format!("x: {{y: 2, 0644: m}}\n\"{}\": 2\n", &name[1..]));
    }
    given(text)
        .add("/x/y", json!(3))
        .gives("on: push\nx: {y: 3, 0644: m}\n");
    given(text)
        .replace("/x/0644", json!(3))
        .gives("on: push\nx: {y: 2, 0644: 3}\n");
    // A key that is read as the name comes first.
    given("on: 1\n\"on\": 2\n")
        .replace("/on", json!(3))
        .gives("on: 1\n\"on\": 3\n");
    for name in ["/on", "/true", "/yes"] {
        given("on: 1\nyes: 2\n")
            .replace(name, json!(3))
            .refuses(ErrorKind::DuplicateKey);
    }
    given("on: 1\n")
        .replace("/yes", json!(3))
        .refuses(ErrorKind::InvalidPointer);
}
