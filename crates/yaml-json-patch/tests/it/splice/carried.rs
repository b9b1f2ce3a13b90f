//! Text that `move` and `copy` take along.

use super::{Patched, given};
use serde_json::json;
use yaml_json_patch::ErrorKind;

fn moved<'t>(text: &'t str, from: &str, path: &str) -> Patched<'t> {
    given(text).patched_with(json!([{"op": "move", "from": from, "path": path}]))
}

fn copied<'t>(text: &'t str, from: &str, path: &str) -> Patched<'t> {
    given(text).patched_with(json!([{"op": "copy", "from": from, "path": path}]))
}

#[test]
fn scalars_keep_their_spelling() {
    copied("a: 0644\nb: {}\n", "/a", "/c").gives("a: 0644\nb: {}\nc: 0644\n");
    copied("a: 1.10 # why\nb: 2 # keep\n", "/a", "/b").gives("a: 1.10 # why\nb: 1.10 # keep\n");
    moved("a:\n  b: 'q' # why\nc: 2\n", "/a/b", "/d").gives("a: {}\nc: 2\nd: 'q' # why\n");
    moved("a: 0x1F\nb: [1]\n", "/a", "/b/0").gives("b: [0x1F, 1]\n");
    moved("a: 0644\nb: {\"c\": 1}\n", "/a", "/b/d").gives("b: {\"c\": 1, \"d\": 420}\n");
    moved("a: [1.10, yes]\nb: [1]\n", "/a/0", "/b/-").gives("a: [yes]\nb: [1, 1.10]\n");
    copied("- yes\n- {y: 8}\n", "/0", "/1/x").gives("- yes\n- {y: 8, x: yes}\n");
    copied("a: [1.0, {y: 8}]\n", "/a", "/b").gives("a: [1.0, {y: 8}]\nb: [1.0, {y: 8}]\n");
}

#[test]
fn collections_keep_comments_and_block_scalars() {
    let text = "a:\n  b: # head\n    # first\n    y: 8\n    s: |\n      one\n\n        two\n    t: 0644 # last\nc: 1\n";
    moved(text, "/a/b", "/d").gives(
        "a: {}\nc: 1\nd: # head\n  # first\n  y: 8\n  s: |\n    one\n\n      two\n  t: 0644 # last\n",
    );
    moved(
        "a:\n- x: 1 # one\n  y: |-\n    t\nb:\n    c: d\n",
        "/a/0",
        "/b/e",
    )
    .gives("a: []\nb:\n    c: d\n    e:\n        x: 1 # one\n        y: |-\n          t\n");
    moved(
        "a:\n  x: 1 # one\n  # two\n  y: 2\nb:\n  - z\n",
        "/a",
        "/b/0",
    )
    .gives("b:\n  - x: 1 # one\n    # two\n    y: 2\n  - z\n");
    moved("a:\n- x\n- y # two\nb:\n- z\n", "/a", "/b/-").gives("b:\n- z\n- - x\n  - y # two\n");
    moved("- a: |\n    t\n\n- b: 1\n", "/0", "/1").gives("- b: 1\n- a: |\n    t\n");
    copied("a: >\n  x\n  y\nb: 2 # two\n", "/a", "/b").gives("a: >\n  x\n  y\nb: >\n  x\n  y\n");
    copied("a:\n  x: 1\nb: 2 # two\n", "/a", "/b").gives("a:\n  x: 1\nb: # two\n  x: 1\n");
    moved("a: [\n  x, # why\n  y\n]\nb:\n  c: 1\n", "/a", "/b/d")
        .gives("b:\n  c: 1\n  d: [\n    x, # why\n    y\n  ]\n");
    moved("a:\n  y: 8\n  # why\n  z: 1.10\nb: {c: 1}\n", "/a", "/b/d")
        .gives("b: {c: 1, d: {y: 8, z: 1.10}}\n");
}

#[test]
fn anchors_stay_and_aliases_follow_their_anchors() {
    copied("a: &x 0644\nb: *x\n", "/b", "/c").gives("a: &x 0644\nb: *x\nc: *x\n");
    copied("a: &x 0644\nb: *x\n", "/a", "/c").gives("a: &x 0644\nb: *x\nc: 0644\n");
    copied("a: 1\nb: &x 0644\nc: [*x]\n", "/c", "/a").gives("a:\n  - 0644\nb: &x 0644\nc: [*x]\n");
    copied("a: &x {y: 8}\nb:\n  <<: *x\n  z: 0644\n", "/b", "/c")
        .gives("a: &x {y: 8}\nb:\n  <<: *x\n  z: 0644\nc:\n  <<: *x\n  z: 0644\n");
    moved("a: &x 1\nb: *x\nc: {}\n", "/a", "/c/d").refuses(ErrorKind::Anchor);
}

#[test]
fn a_text_that_cannot_stand_there_is_written_by_value() {
    // The line break at the end belongs to the value.
    copied("b: 1\na: |\n  x\n", "/a", "/c").gives("b: 1\na: |\n  x\nc: |\n  x\n");
    copied("a: |\n  x\nb: 1", "/a", "/c").gives("a: |\n  x\nb: 1\nc: \"x\\n\"");
    copied("b: 1\na: |\n  x", "/a", "/b").gives("b: x\na: |\n  x");
    // Without its brackets, `p: 1` is no value.
    copied("a: [p: 1]\n", "/a/0", "/b").gives("a: [p: 1]\nb:\n  p: 1\n");
    // The second line is not indented deeper than the key.
    copied("a: {\n  b: one\n  two}\n", "/a/b", "/c").gives("a: {\n  b: one\n  two}\nc: one two\n");
}

#[test]
fn a_string_keeps_its_quotes() {
    given("a: 'x' # why\n")
        .replace("/a", json!("it's"))
        .gives("a: 'it''s' # why\n");
    given("a: 'x'\n")
        .replace("/a", json!("two\nlines"))
        .gives("a: |-\n  two\n  lines\n");
    given("a: \"one\\nline\"\n")
        .replace("/a", json!("two\nlines"))
        .gives("a: \"two\\nlines\"\n");
    given("a: \"x\"\n")
        .replace("/a", json!("y z"))
        .gives("a: \"y z\"\n");
    given("a: \"x\"\n").replace("/a", json!(1)).gives("a: 1\n");
    given("- 'x'\n- {a: 'b', \"c\": \"d\"}\n")
        .patched_with(json!([
            {"op": "replace", "path": "/0", "value": "y"},
            {"op": "replace", "path": "/1/a", "value": "y"},
            {"op": "replace", "path": "/1/c", "value": "y"},
        ]))
        .gives("- 'y'\n- {a: 'y', \"c\": \"y\"}\n");
}

#[test]
fn operations_follow_each_other() {
    let text =
        "old:\n  # head\n  v: 1.10 # one\n  p: !secret pw\n  s: |\n    x\n    y\n  m: 0644\nz: 1\n";
    given(text)
        .patched_with(json!([
            {"op": "move", "from": "/old", "path": "/new"},
            {"op": "add", "path": "/new/extra", "value": 1},
        ]))
        .gives("new:\n  # head\n  v: 1.10 # one\n  p: !secret pw\n  s: |\n    x\n    y\n  m: 0644\n  extra: 1\nz: 1\n");
    given("old:\n  v: 1.10 # one\n  p: !include x.yaml\nz: 1\n")
        .patched_with(json!([
            {"op": "replace", "path": "/old/v", "value": "2.0.1"},
            {"op": "move", "from": "/old", "path": "/new"},
        ]))
        .gives("new:\n  v: 2.0.1 # one\n  p: !include x.yaml\nz: 1\n");
}

#[test]
fn comments_stay_with_their_items() {
    given("l:\n- v0 # c0\n- v1 # c1\n- v2 # c2\nz: 1\n")
        .patched_with(json!([
            {"op": "move", "from": "/l/2", "path": "/l/1"},
            {"op": "move", "from": "/l/2", "path": "/l/0"},
        ]))
        .gives("l:\n- v1 # c1\n- v0 # c0\n- v2 # c2\nz: 1\n");
    given("l:\n- a # A\n- b # B\n- c # C\n")
        .patched_with(json!([
            {"op": "add", "path": "/l/0", "value": "z"},
            {"op": "replace", "path": "/l/1", "value": "aa"},
        ]))
        .gives("l:\n- z\n- aa # A\n- b # B\n- c # C\n");
    given("some:\n- first   # one\n- second   # two\n- third   # three\n")
        .patched_with(json!([
            {"op": "remove", "path": "/some/1"},
            {"op": "replace", "path": "/some/1", "value": "3rd"},
        ]))
        .gives("some:\n- first   # one\n- 3rd   # three\n");
}

#[test]
fn lines_commented_out_at_the_end_stay_with_their_block() {
    given("functions:\n  hello:\n    handler: a\n#    runtime: n\n")
        .patched_with(json!([
            {"op": "add", "path": "/new1", "value": true},
            {"op": "add", "path": "/functions/new2", "value": "x"},
        ]))
        .gives("functions:\n  hello:\n    handler: a\n#    runtime: n\n  new2: x\nnew1: true\n");
}

#[test]
fn a_member_that_gets_another_name_keeps_its_place() {
    moved(
        "job:\n  # who\n  name: a # n\n  runs: b\n",
        "/job/name",
        "/job/title",
    )
    .gives("job:\n  # who\n  title: a # n\n  runs: b\n");
    moved("a: {'b': &x 1, c: *x}\n", "/a/b", "/a/d").gives("a: {'d': &x 1, c: *x}\n");
    moved("{\"a\": 1, \"b\": 2}", "/a", "/c").gives("{\"c\": 1, \"b\": 2}");
    // The value of another member is replaced.
    moved("a: 1\nb: 2\n", "/a", "/b").gives("b: 1\n");
}

#[test]
fn tags_are_carried_or_kept_from_getting_lost() {
    moved("[!Ref A, !Ref B, c]", "/1", "/0").gives("[!Ref B, !Ref A, c]");
    moved("- a\n- !B\n  y: 2\n", "/1", "/0").gives("- !B\n  y: 2\n- a\n");
    moved("a: !Join [x, !Ref y]\nb: {}\nc: [1]\n", "/a", "/c/0")
        .gives("b: {}\nc: [!Join [x, !Ref y], 1]\n");
    moved("a: !x 1\nb: {\"c\": 1}\n", "/a", "/b/d").refuses(ErrorKind::Tag);
}

#[test]
fn the_comment_right_above_goes_along() {
    moved(
        "a:\n  # Of b,\n  # in two lines.\n  b: 1\n  c: 2\nd:\n    e: 1\n",
        "/a/b",
        "/d/b",
    )
    .gives("a:\n  c: 2\nd:\n    e: 1\n    # Of b,\n    # in two lines.\n    b: 1\n");
    moved("l:\n- a\n# Of b.\n- b: 1\n  c: 2\n", "/l/1", "/l/0")
        .gives("l:\n# Of b.\n- b: 1\n  c: 2\n- a\n");
    moved("a: 1\nm:\n  # Of x.\n  x: 1\n", "/m/x", "/x").gives("a: 1\nm: {}\n# Of x.\nx: 1\n");
    // Not into brackets, not onto another value, not the head of the text.
    moved("a: 1\n# Of b.\nb: 2\nc: {}\nd: [1]\n", "/b", "/d/0")
        .gives("a: 1\n# Of b.\nc: {}\nd: [2, 1]\n");
    moved("m:\n  # Of b.\n  b: 2\nc: 3\n", "/m/b", "/c").gives("m: {}\n  # Of b.\nc: 2\n");
    moved("# Licence.\na: 1\nb:\n  c: 2\n", "/a", "/b/a").gives("# Licence.\nb:\n  c: 2\n  a: 1\n");
    copied("a:\n  # Of b.\n  b: 1\nd: {e: 1}\n", "/a/b", "/c")
        .gives("a:\n  # Of b.\n  b: 1\nd: {e: 1}\nc: 1\n");
}
