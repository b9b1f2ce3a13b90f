//! Splicing by example: given a text, patched with operations, it gives a text.

use json_patch::Patch;
use mackerel_agent_injector::edit;
use mackerel_agent_injector::splice::{ApplyError, Refusal, Spelling, apply, gave_way, splice};
use mackerel_agent_injector::yaml;
use serde_json::{Value, json};

struct Given<'t>(&'t str);

struct Patched<'t> {
    before: &'t str,
    after: Result<String, ApplyError>,
}

fn given(text: &str) -> Given<'_> {
    Given(text)
}

fn patch(operations: Value) -> Patch {
    serde_json::from_value(operations).unwrap()
}

/// Line ends, tabs, byte order marks and a missing final line break can be seen.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = text.replace('\u{feff}', "«BOM»").replace('\t', "→").replace('\r', "␍").replace('\n', "␊\n");
    if !text.ends_with('\n') {
        shown.push_str("[end]\n");
    }
    shown
}

impl<'t> Given<'t> {
    fn patched_with(self, operations: Value) -> Patched<'t> {
        Patched { before: self.0, after: apply(self.0, &patch(operations)) }
    }

    fn add(self, path: &str, value: Value) -> Patched<'t> {
        self.patched_with(json!([{"op": "add", "path": path, "value": value}]))
    }

    fn remove(self, path: &str) -> Patched<'t> {
        self.patched_with(json!([{"op": "remove", "path": path}]))
    }

    fn replace(self, path: &str, value: Value) -> Patched<'t> {
        self.patched_with(json!([{"op": "replace", "path": path, "value": value}]))
    }
}

impl Patched<'_> {
    #[track_caller]
    fn gives(self, expected: &str) -> Self {
        match &self.after {
            Ok(after) => assert_eq!(visible(after), visible(expected), "given:\n{}", visible(self.before)),
            Err(error) => panic!("{error:?}, given:\n{}", visible(self.before)),
        }
        self
    }

    /// Removing what was added gives the original back, byte for byte.
    #[track_caller]
    fn and_without(self, paths: &[&str]) {
        let after = self.after.unwrap();
        let removals = paths.iter().map(|path| json!({"op": "remove", "path": path})).collect();
        let back = apply(&after, &patch(removals)).unwrap();
        assert_eq!(visible(&back), visible(self.before), "without what was added to\n{}", visible(&after));
    }

    #[track_caller]
    fn refuses(self, refusal: Refusal) {
        match self.after {
            Err(ApplyError::Uneditable(uneditable)) => assert_eq!(uneditable.refusal, refusal),
            other => panic!("{other:?}, given:\n{}", visible(self.before)),
        }
    }
}

// Block sequences

#[test]
fn an_item_goes_behind_the_last_one_and_its_comment() {
    given("list:\n  - a # first\n  - b # last\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n  - a # first\n  - b # last\n  - c\nnext: 1\n")
        .and_without(&["/list/2"]);
}

#[test]
fn an_item_of_a_flush_list() {
    given("list:\n- a\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n- a\n- c\nnext: 1\n")
        .and_without(&["/list/1"]);
}

#[test]
fn comments_deeper_than_the_dash_belong_to_the_item_above() {
    given("list:\n- name: a\n  # about a\n\n  # more about a\n\n# about next\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n- name: a\n  # about a\n\n  # more about a\n- c\n\n# about next\nnext: 1\n")
        .and_without(&["/list/1"]);
}

#[test]
fn comments_at_the_dash_stay_with_what_follows() {
    given("list:\n  - a\n  # - commented out\nnext: 1\n")
        .add("/list/-", json!("c"))
        .gives("list:\n  - a\n  - c\n  # - commented out\nnext: 1\n")
        .and_without(&["/list/1"]);
}

#[test]
fn an_item_in_the_middle_leaves_the_next_ones_comment_to_it() {
    given("- a\n# about b\n- b\n").add("/1", json!("x")).gives("- a\n- x\n# about b\n- b\n").and_without(&["/1"]);
}

#[test]
fn an_item_before_the_first() {
    given("list:\n  # about a\n  - a\n")
        .add("/list/0", json!({"k": 1, "l": [true, null]}))
        .gives("list:\n  # about a\n  - k: 1\n    l: [true, null]\n  - a\n")
        .and_without(&["/list/0"]);
}

#[test]
fn the_space_behind_the_dash_is_kept() {
    given("list:\n-   name: a\n    image: b\n")
        .add("/list/-", json!({"name": "c", "image": "d", "env": [{"name": "e"}]}))
        .gives("list:\n-   name: a\n    image: b\n-   name: c\n    image: d\n    env:\n    -   name: e\n")
        .and_without(&["/list/1"]);
}

#[test]
fn a_dash_alone_on_its_line() {
    given("list:\n  -\n    name: a\n")
        .add("/list/-", json!({"name": "c"}))
        .gives("list:\n  -\n    name: a\n  - name: c\n");
}

#[test]
fn a_list_in_a_list() {
    given("- - a\n  - b\n- c\n").add("/0/-", json!("x")).gives("- - a\n  - b\n  - x\n- c\n").and_without(&["/0/2"]);
    given("- - a\n  - b\n").add("/0/0", json!("x")).gives("- - x\n  - a\n  - b\n").and_without(&["/0/0"]);
    given("- - a\n").add("/-", json!(["x", "y z: "])).gives("- - a\n- - x\n  - \"y z: \"\n").and_without(&["/1"]);
}

#[test]
fn two_lists_that_end_together() {
    given("a:\n  - b:\n      - c\n")
        .patched_with(json!([
            {"op": "add", "path": "/a/-", "value": "outer"},
            {"op": "add", "path": "/a/0/b/-", "value": "inner"},
            {"op": "add", "path": "/z", "value": "root"},
        ]))
        .gives("a:\n  - b:\n      - c\n      - inner\n  - outer\nz: root\n")
        .and_without(&["/z", "/a/1", "/a/0/b/1"]);
}

#[test]
fn nested_lists_are_written_as_those_in_the_items_beside() {
    given("containers:\n- name: a\n  env:\n    - name: b\n")
        .add("/containers/-", json!({"name": "c", "env": [{"name": "d"}]}))
        .gives("containers:\n- name: a\n  env:\n    - name: b\n- name: c\n  env:\n    - name: d\n");
    given("containers:\n- name: a\nvolumes:\n  - v\n")
        .add("/containers/-", json!({"name": "c", "env": [{"name": "d"}]}))
        .gives("containers:\n- name: a\n- name: c\n  env:\n  - name: d\nvolumes:\n  - v\n");
}

#[test]
fn an_item_that_is_removed_takes_its_lines_and_nobodys_comment() {
    given("list:\n# about a\n- a\n# about b\n- b: 1\n  c: 2 # of b\n# about d\n- d\n")
        .remove("/list/1")
        .gives("list:\n# about a\n- a\n# about b\n# about d\n- d\n");
}

#[test]
fn the_first_item_behind_another_dash_is_removed() {
    given("- - a\n  - b\n").remove("/0/0").gives("- - b\n");
    given("- - a\n  # about b\n  - b\n").remove("/0/0").gives("-\n  # about b\n  - b\n");
}

#[test]
fn several_behind_another_dash_are_removed() {
    let both = json!([{"op": "remove", "path": "/0/0"}, {"op": "remove", "path": "/0/0"}]);
    given("- - a\n  - b\n  - c\n").patched_with(both.clone()).gives("- - c\n");
    given("- - a\n  - b\n  # about c\n  - c\n").patched_with(both).gives("-\n  # about c\n  - c\n");
}

#[test]
fn a_list_that_becomes_empty() {
    given("list: # why\n  - a\n  - b\nnext: 1\n")
        .patched_with(json!([{"op": "remove", "path": "/list/0"}, {"op": "remove", "path": "/list/0"}]))
        .gives("list: [] # why\nnext: 1\n");
    given("- - a\n").remove("/0/0").gives("- []\n");
    given("- a\n").remove("/0").gives("[]\n");
    given("k:\n- a").remove("/k/0").gives("k: []");
}

#[test]
fn an_item_that_is_replaced() {
    given("- a # keep\n- b: 1 # goes\n- c\n").replace("/0", json!("x")).gives("- x # keep\n- b: 1 # goes\n- c\n");
    given("- a\n- b: 1 # goes\n- c\n").replace("/1", json!({"x": 1, "w": 2})).gives("- a\n- x: 1\n  w: 2\n- c\n");
    given("- a\n- # empty\n- c\n").replace("/1", json!(5)).gives("- a\n- 5 # empty\n- c\n");
    given("- - a\n  - b\n").replace("/0/0", json!({"x": 1, "w": 2})).gives("- - x: 1\n    w: 2\n  - b\n");
}

#[test]
fn replacing_is_removing_and_adding() {
    let text = "list:\n# about a\n- a\n# about b\n- b: 1\n  c: 2\n# end\n";
    let (Ok(replaced), Ok(added)) = (
        given(text).replace("/list/1", json!({"z": [1]})).after,
        given(text)
            .patched_with(json!([
                {"op": "remove", "path": "/list/1"},
                {"op": "add", "path": "/list/1", "value": {"z": [1]}},
            ]))
            .after,
    ) else {
        panic!("both can be done")
    };
    assert_eq!(replaced, added);
    assert_eq!(replaced, "list:\n# about a\n- a\n# about b\n- z: [1]\n# end\n");
}

// Block mappings

#[test]
fn a_member_goes_behind_the_last_one() {
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
            drop: [ALL]
          runAsUser: 65532
    volumes:
      - name: tmp
        emptyDir:
          sizeLimit: 64Mi
",
    )
    .and_without(&["/template/spec/volumes", "/template/spec/containers/1", "/template/metadata/annotations"]);
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
          drop: [ALL]
        runAsUser: 65532
    volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
",
    )
    .and_without(&["/template/spec/volumes", "/template/spec/containers/1", "/template/metadata/annotations"]);
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
    given("\"a\" :\n  'b' : 1\n").add("/a/c", json!({})).gives("\"a\" :\n  'b' : 1\n  c: {}\n").and_without(&["/a/c"]);
}

#[test]
fn members_are_removed() {
    given("a: 1\n# about b\nb: 2 # two\nc: 3\n").remove("/b").gives("a: 1\n# about b\nc: 3\n");
    given("- a: 1\n  b: 2\n").remove("/0/a").gives("- b: 2\n");
    given("- a: 1 # one\n  # about b\n  b: 2\n").remove("/0/a").gives("-\n  # about b\n  b: 2\n");
    given("- a: 1 # one\n").remove("/0/a").gives("- {} # one\n");
    given("k:\n  a: 1\nn: 1\n").remove("/k/a").gives("k: {}\nn: 1\n");
    given("a: 1\n").remove("/a").gives("{}\n");
}

#[test]
fn all_members_go_and_others_come() {
    given("- a: 1\n  b: 2\n- z\n")
        .patched_with(json!([
            {"op": "remove", "path": "/0/a"}, {"op": "remove", "path": "/0/b"},
            {"op": "add", "path": "/0/c", "value": 3}, {"op": "add", "path": "/0/d", "value": 4},
        ]))
        .gives("- c: 3\n  d: 4\n- z\n");
    given("k:\n  a: 1\n")
        .patched_with(json!([{"op": "remove", "path": "/k/a"}, {"op": "add", "path": "/k/c", "value": 3}]))
        .gives("k:\n  c: 3\n");
}

#[test]
fn values_are_replaced() {
    given("a:   1   # one\nb: x\n").replace("/a", json!("2")).gives("a:   \"2\"   # one\nb: x\n");
    given("a: >\n  long\n  text\nb: x\n").replace("/a", json!(true)).gives("a: true\nb: x\n");
    given("a: \"x\n  y\"\nb: x\n").replace("/a", json!("z")).gives("a: z\nb: x\n");
    given("a:\n  - 1\n  - 2\nb: x\n").replace("/a", json!("z")).gives("a: z\nb: x\n");
    given("a: # why\n  - 1\nb: x\n").replace("/a", json!({"k": {"l": 1}})).gives("a: # why\n  k:\n    l: 1\nb: x\n");
    given("a: 5 # why\nb: x\n").replace("/a", json!({"k": {"l": 1}})).gives("a: # why\n  k:\n    l: 1\nb: x\n");
    given("a:\n  5\nb: x\n").replace("/a", json!({"k": {"l": 1}})).gives("a:\n  k:\n    l: 1\nb: x\n");
    given("a:\nb: x\n").replace("/a", json!(5)).gives("a: 5\nb: x\n");
    given("a: &x 1\nb: x\n").replace("/a", json!(5)).gives("a: 5\nb: x\n");
    given("a: !!str\nb: x\n").replace("/a", json!(5)).gives("a: 5\nb: x\n");
}

#[test]
fn members_are_moved_and_copied() {
    given("a:\n  x: [1, 'y']\nb: {}\n")
        .patched_with(
            json!([{"op": "move", "from": "/a/x", "path": "/b/z"}, {"op": "copy", "from": "/b", "path": "/c"}]),
        )
        .gives("a: {}\nb: {z: [1, \"y\"]}\nc:\n  z:\n    - 1\n    - \"y\"\n");
}

// Ends of texts

#[test]
fn a_text_without_final_line_break_keeps_none() {
    given("a: 1").add("/b", json!(2)).gives("a: 1\nb: 2").and_without(&["/b"]);
    given("a:\n- b").add("/a/-", json!({"c": 1, "d": 2})).gives("a:\n- b\n- c: 1\n  d: 2").and_without(&["/a/1"]);
    given("a:\n- b # c").add("/a/-", json!("d")).gives("a:\n- b # c\n- d").and_without(&["/a/1"]);
    given("a: 1\n# end").add("/b", json!(2)).gives("a: 1\nb: 2\n# end").and_without(&["/b"]);
    given("a:").add("/a", json!({"b": 1})).gives("a:\n  b: 1");
    given("a: 1\nb: 2").remove("/b").gives("a: 1");
    given("a: 1\nb: 2\nc: 3")
        .patched_with(json!([{"op": "remove", "path": "/b"}, {"op": "remove", "path": "/c"}]))
        .gives("a: 1");
    given("a: 1\nb: 2")
        .patched_with(json!([{"op": "remove", "path": "/b"}, {"op": "add", "path": "/c", "value": [[{}]]}]))
        .gives("a: 1\nc:\n  - - {}");
}

#[test]
fn lines_end_as_their_neighbours_do() {
    given("a: 1\r\nb:\r\n  - c\r\n")
        .add("/b/-", json!({"d": 1, "e": 2}))
        .gives("a: 1\r\nb:\r\n  - c\r\n  - d: 1\r\n    e: 2\r\n")
        .and_without(&["/b/1"]);
    given("a: 1\r\nb: 2").add("/c", json!(3)).gives("a: 1\r\nb: 2\r\nc: 3").and_without(&["/c"]);
    given("a: 1\nb: 2\r\nc: 3\n").add("/d", json!(4)).gives("a: 1\nb: 2\r\nc: 3\nd: 4\n").and_without(&["/d"]);
    given("{\r\n  \"a\": 1\r\n}")
        .add("/b", json!([2]))
        .gives("{\r\n  \"a\": 1,\r\n  \"b\": [\r\n    2\r\n  ]\r\n}")
        .and_without(&["/b"]);
}

#[test]
fn a_byte_order_mark_is_no_column() {
    given("\u{feff}a: 1\n").add("/b", json!(2)).gives("\u{feff}a: 1\nb: 2\n").and_without(&["/b"]);
    given("\u{feff}a: 1\nb: 2\n").remove("/a").gives("\u{feff}b: 2\n");
}

#[test]
fn markers_stay_where_they_are() {
    given("%YAML 1.1\n---\na: 1\n...\n")
        .add("/b", json!(2))
        .gives("%YAML 1.1\n---\na: 1\nb: 2\n...\n")
        .and_without(&["/b"]);
    given("--- # first\na: 1\n").add("/b", json!(2)).gives("--- # first\na: 1\nb: 2\n").and_without(&["/b"]);
}

#[test]
fn behind_a_block_scalar() {
    given("a: |\n  x\n\nb: 1\n").add("/c", json!(2)).gives("a: |\n  x\n\nb: 1\nc: 2\n");
    given("a: |+\n  x\n\n").add("/c", json!(2)).gives("a: |+\n  x\n\nc: 2\n").and_without(&["/c"]);
    given("a: |-\n  x\n\n\n").add("/c", json!(2)).gives("a: |-\n  x\nc: 2\n\n\n").and_without(&["/c"]);
}

#[test]
fn behind_a_block_scalar_that_the_texts_end_cuts_off() {
    given("a: |\n  x").add("/c", json!(2)).gives("c: 2\na: |\n  x").and_without(&["/c"]);
    given("- a: |\n    x").add("/0/c", json!(2)).gives("- c: 2\n  a: |\n    x").and_without(&["/0/c"]);
    given("a: |-\n  x").add("/c", json!(2)).gives("a: |-\n  x\nc: 2").and_without(&["/c"]);
    given("- |\n  x").add("/-", json!(2)).refuses(Refusal::OpenBlockScalar);
    given("a: |\n  x\nb: 1").remove("/b").gives("a: |\n  x\n");
}

#[test]
fn nothing_slips_into_a_block_scalar() {
    given("a: |\n  x\nb: 1\n  # note\n").remove("/b").refuses(Refusal::Swallowed);
    given("a: |\n    x\nb: 1\n  # note\n").remove("/b").gives("a: |\n    x\n  # note\n");
    given("a: |+\n  x\nb: 1\n\nc: 1\n").remove("/b").refuses(Refusal::Swallowed);
    given("a: |+\n  x\nz: {}\nb: 1\n\nc: 1\n").remove("/b").gives("a: |+\n  x\nz: {}\n\nc: 1\n");
    given("a: |\n  x\nb: 1\n\nc: 1\n").remove("/b").gives("a: |\n  x\n\nc: 1\n");
}

// Nulls

fn filled_and_restored(text: &str, path: &str, value: Value, expected: &str) {
    let tree = yaml::read(text).unwrap();
    let node = tree.get(tree.root().unwrap(), path.trim_start_matches('/')).unwrap();
    let raw = gave_way(&tree, node);
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
    filled_and_restored("a: !!null\nb: 1\n", "/a", json!({"c": 1}), "a:\n  c: 1\nb: 1\n");
}

#[test]
fn a_null_on_a_line_of_its_own_is_left_alone() {
    given("a:\n  null\n").add("/a", json!({"b": 1})).refuses(Refusal::OddNull);
}

// Brackets

#[test]
fn an_element_goes_behind_the_last_one_in_brackets() {
    given("a: [x, y]\n").add("/a/-", json!("z")).gives("a: [x, y, z]\n").and_without(&["/a/2"]);
    given("a: [x,y,]\n").add("/a/-", json!("z")).gives("a: [x,y,z,]\n").and_without(&["/a/2"]);
    given("a: [ \"x\" ]\n").add("/a/-", json!("z")).gives("a: [ \"x\", \"z\" ]\n").and_without(&["/a/1"]);
    given("a: {x: 1}\n")
        .add("/a/w", json!({"z": ["b c", "d: e"]}))
        .gives("a: {x: 1, w: {z: [b c, \"d: e\"]}}\n")
        .and_without(&["/a/w"]);
    given("{\"a\":1}")
        .add("/b", json!({"c": [1, "x"]}))
        .gives("{\"a\":1,\"b\":{\"c\":[1,\"x\"]}}")
        .and_without(&["/b"]);
    given("{\"a\": 1}")
        .add("/b", json!({"c": [1, "x"]}))
        .gives("{\"a\": 1, \"b\": {\"c\": [1, \"x\"]}}")
        .and_without(&["/b"]);
    given("[]").add("/-", json!({"c": 1})).gives("[{\"c\": 1}]").and_without(&["/0"]);
    given("a: { }\n").add("/a/b", json!("c")).gives("a: {b: c }\n").and_without(&["/a/b"]);
    given("a: []\n").add("/a/-", json!({"b": "c"})).gives("a: [{b: c}]\n").and_without(&["/a/0"]);
}

#[test]
fn an_element_before_others_in_brackets() {
    given("[1, 2]").add("/0", json!(0)).gives("[0, 1, 2]").and_without(&["/0"]);
    given("[1, 2]").add("/1", json!(0)).gives("[1, 0, 2]").and_without(&["/1"]);
    given("[\n  1,\n  2\n]").add("/0", json!(0)).gives("[\n  0,\n  1,\n  2\n]").and_without(&["/0"]);
}

#[test]
fn json_over_several_lines() {
    given("{\n  \"a\": {\n    \"b\": 1\n  },\n  \"l\": {}\n}\n")
        .patched_with(json!([
            {"op": "add", "path": "/a/c", "value": {"d": ["e"]}},
            {"op": "add", "path": "/l/m", "value": "n"},
            {"op": "add", "path": "/z", "value": []},
        ]))
        .gives("{\n  \"a\": {\n    \"b\": 1,\n    \"c\": {\n      \"d\": [\n        \"e\"\n      ]\n    }\n  },\n  \"l\": {\n    \"m\": \"n\"\n  },\n  \"z\": []\n}\n")
        .and_without(&["/z", "/l/m", "/a/c"]);
    given("{\n\t\"a\": [\n\t\t{\"b\": 1}\n\t]\n}\n")
        .add("/a/-", json!({"b": 2, "c": []}))
        .gives("{\n\t\"a\": [\n\t\t{\"b\": 1},\n\t\t{\"b\": 2, \"c\": []}\n\t]\n}\n")
        .and_without(&["/a/1"]);
}

#[test]
fn comments_between_elements_in_brackets() {
    given("a: [\n  x, # ex\n  y, # why\n]\n")
        .add("/a/-", json!("z"))
        .gives("a: [\n  x, # ex\n  y, # why\n  z,\n]\n")
        .and_without(&["/a/2"]);
    given("a: [\n  x, # ex\n  y # why\n]\n")
        .add("/a/-", json!("z"))
        .gives("a: [\n  x, # ex\n  y, # why\n  z\n]\n")
        .and_without(&["/a/2"]);
    given("a: [\n  x, # ex\n  y # why\n]\n")
        .add("/a/1", json!("z"))
        .gives("a: [\n  x, # ex\n  z,\n  y # why\n]\n")
        .and_without(&["/a/1"]);
    given("a: [\n  x, # ex\n  y, # why\n  z\n]\n").remove("/a/1").gives("a: [\n  x, # ex\n  z\n]\n");
}

#[test]
fn neighbours_in_brackets_go_below_a_comment() {
    let text = "a: {\n  x: 1, # why\n  v: 2,\n  w: 3\n}\n";
    let removes = json!([{"op": "remove", "path": "/a/v"}, {"op": "remove", "path": "/a/w"}]);
    given(text).patched_with(removes.clone()).gives("a: {\n  x: 1 # why\n}\n");
    let mut operations = removes;
    operations.as_array_mut().unwrap().push(json!({"op": "add", "path": "/a/z", "value": 4}));
    given(text).patched_with(operations).gives("a: {\n  x: 1, # why\n  z: 4,\n}\n");
}

#[test]
fn elements_in_brackets_are_removed() {
    given("[1, 2, 3]").remove("/1").gives("[1, 3]");
    given("[1, 2, 3]").remove("/0").gives("[2, 3]");
    given("[1, 2, 3]").remove("/2").gives("[1, 2]");
    given("[ 1 ]").remove("/0").gives("[  ]");
    given("{\n  \"a\": 1\n}\n").remove("/a").gives("{}\n");
    given("[1, 2, 3]")
        .patched_with(json!([{"op": "remove", "path": "/0"}, {"op": "remove", "path": "/0"}]))
        .gives("[3]");
    given("{\"a\": 1, \"b\": 2}")
        .patched_with(json!([{"op": "remove", "path": "/b"}, {"op": "add", "path": "/c", "value": 3}]))
        .gives("{\"a\": 1, \"c\": 3}");
    given("{\"a\": 1, \"b\": 2}")
        .patched_with(json!([{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/b"}, {"op": "add", "path": "/c", "value": 3}]))
        .gives("{\"c\": 3}");
}

#[test]
fn values_in_brackets_are_replaced() {
    given("{\"a\": 1, \"b\": [2]}").replace("/b", json!({"c": null})).gives("{\"a\": 1, \"b\": {\"c\": null}}");
    given("{a, b: 1}").replace("/a", json!("x, y")).gives("{a: \"x, y\", b: 1}");
    given("[1, *a]".replace("1", "&a 1").as_str()).replace("/1", json!(2)).gives("[&a 1, 2]");
}

#[test]
fn the_whole_document() {
    given("# why\na: 1\n").replace("", json!({"b": [1, {"c": 2}]})).gives("# why\nb:\n  - 1\n  - c: 2\n");
    given("{\"a\": 1}").replace("", json!([1, "x"])).gives("[1, \"x\"]");
    given("").add("", json!({"a": 1})).gives("a: 1\n");
    given("# only a comment").add("", json!({"a": 1})).gives("# only a comment\na: 1");
    given("a: 1\n").replace("", json!("x")).gives("x\n");
}

// Refusals

#[test]
fn what_is_shared_is_left_alone() {
    given("a: &x {k: 1}\nb: *x\n").add("/b/c", json!(1)).refuses(Refusal::Alias);
    given("a: &x {k: 1}\nb: *x\n").add("/a/c", json!(1)).refuses(Refusal::Anchor);
    given("a: &x {k: [1]}\nb: *x\n").add("/a/k/-", json!(1)).refuses(Refusal::Anchor);
    given("a: &x {k: 1}\nb: *x\n").remove("/a").refuses(Refusal::Anchor);
    given("a: &x {k: 1}\nb: *x\n").add("/c", json!(1)).gives("a: &x {k: 1}\nb: *x\nc: 1\n");
    given("a: &x {k: 1}\nb: *x\n").replace("/b", json!(1)).gives("a: &x {k: 1}\nb: 1\n");
    given("a: &x\n  k: 1\nb: 2\n").add("/a/l", json!(1)).gives("a: &x\n  k: 1\n  l: 1\nb: 2\n");
}

#[test]
fn merge_keys_may_supply_or_override() {
    let text = "base: &x {k: 1}\na:\n  <<: *x\n  l: [1]\n";
    given(text).add("/a/m", json!(1)).refuses(Refusal::MergeKey);
    given(text).add("/a/k", json!(1)).refuses(Refusal::MergeKey);
    given(text).add("/a/l/-", json!(2)).gives("base: &x {k: 1}\na:\n  <<: *x\n  l: [1, 2]\n");
    given("base: &x {k: 1}\na:\n  l: [1]\n  <<: *x\n").add("/a/l/-", json!(2)).refuses(Refusal::MergeKey);
}

#[test]
fn keys_that_are_not_clear() {
    given("a: {k: 1}\na: {l: 1}\n").add("/a/m", json!(1)).refuses(Refusal::DuplicateKey);
    given("a: {k: 1}\na: {l: 1}\nb: {}\n").add("/b/m", json!(1)).gives("a: {k: 1}\na: {l: 1}\nb: {m: 1}\n");
    given("? a\n: b\n").add("/c", json!(1)).refuses(Refusal::ExplicitKey);
    given("[a: b]\n").add("/0/c", json!(1)).refuses(Refusal::FlowPair);
    given("a: !x {k: 1}\n").add("/a/m", json!(1)).refuses(Refusal::Tag);
    given("a: !!map {k: 1}\n").add("/a/m", json!(1)).gives("a: !!map {k: 1, m: 1}\n");
    given("null: 1\n").add("/a", json!(1)).refuses(Refusal::OddKey);
    given("a: 1\n").add(&format!("/{}", "k".repeat(2000)), json!(1)).refuses(Refusal::LongKey);
}

#[test]
fn line_breaks_that_only_some_readers_see() {
    given("a: 1 # x\u{2028}y\n").add("/b", json!(1)).refuses(Refusal::LineBreaks);
}

#[test]
fn what_the_patch_gets_wrong() {
    given("a: 1\n").remove("/b").refuses(Refusal::NoSuchPlace);
    given("a: 1\n").add("/a/b", json!(1)).refuses(Refusal::NoSuchPlace);
    given("- 1\n").add("/2", json!(1)).refuses(Refusal::NoSuchPlace);
    given("- 1\n").add("/01", json!(1)).refuses(Refusal::NoSuchPlace);
    given("a: 0644\n").patched_with(json!([{"op": "test", "path": "/a", "value": 644}])).refuses(Refusal::TestFailed);
    given("a: 0644\n").patched_with(json!([{"op": "test", "path": "/a", "value": 420}])).gives("a: 0644\n");
    given("a: {b: 1}\n")
        .patched_with(json!([{"op": "move", "from": "/a", "path": "/a/b"}]))
        .refuses(Refusal::MovedIntoItself);
}
