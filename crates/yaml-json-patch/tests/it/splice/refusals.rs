//! Refusals, by name.

use super::given;
use serde_json::json;
use yaml_json_patch::ErrorKind;

#[test]
fn what_is_shared_is_left_alone() {
    given("a: &x {k: 1}\nb: *x\n")
        .add("/b/c", json!(1))
        .refuses(ErrorKind::Alias);
    given("a: &x {k: 1}\nb: *x\n")
        .add("/a/c", json!(1))
        .refuses(ErrorKind::Anchor);
    given("a: &x {k: [1]}\nb: *x\n")
        .add("/a/k/-", json!(1))
        .refuses(ErrorKind::Anchor);
    given("a: &x {k: 1}\nb: *x\n")
        .remove("/a")
        .refuses(ErrorKind::Anchor);
    given("a: &x {k: 1}\nb: *x\n")
        .add("/c", json!(1))
        .gives("a: &x {k: 1}\nb: *x\nc: 1\n");
    given("a: &x {k: 1}\nb: *x\n")
        .replace("/b", json!(1))
        .gives("a: &x {k: 1}\nb: 1\n");
    given("a: &x\n  k: 1\nb: 2\n")
        .add("/a/l", json!(1))
        .gives("a: &x\n  k: 1\n  l: 1\nb: 2\n");
}

#[test]
fn merge_keys_may_supply_or_override() {
    let text = "base: &x {k: 1}\na:\n  <<: *x\n  l: [1]\n";
    given(text)
        .add("/a/m", json!(1))
        .gives("base: &x {k: 1}\na:\n  <<: *x\n  l: [1]\n  m: 1\n");
    // A later field wins.
    given(text)
        .add("/a/k", json!(2))
        .gives("base: &x {k: 1}\na:\n  <<: *x\n  l: [1]\n  k: 2\n");
    given(text)
        .replace("/a/k", json!(2))
        .refuses(ErrorKind::MergeKey);
    given(text)
        .remove("/a/l")
        .gives("base: &x {k: 1}\na:\n  <<: *x\n");
    given(text)
        .add("/a/l/-", json!(2))
        .gives("base: &x {k: 1}\na:\n  <<: *x\n  l: [1, 2]\n");
    given("base: &x {k: 1}\na:\n  <<: *x\n  l: 1 # why\n  m: 2\n")
        .patched_with(json!([{"op": "move", "from": "/a/l", "path": "/a/o"}]))
        .gives("base: &x {k: 1}\na:\n  <<: *x\n  o: 1 # why\n  m: 2\n");
    given("base: &x {k: 1}\na:\n  <<: *x\n  k: 2\n")
        .patched_with(json!([{"op": "move", "from": "/a/k", "path": "/a/o"}]))
        .refuses(ErrorKind::MergeKey);
    // A removed field may have hidden one that the merge key brings.
    given("base: &x {k: 1}\na:\n  <<: *x\n  k: 2\n")
        .remove("/a/k")
        .refuses(ErrorKind::MergeKey);
    given("base: &x {k: 1}\na:\n  l: [1]\n  <<: *x\n")
        .add("/a/l/-", json!(2))
        .gives("base: &x {k: 1}\na:\n  l: [1, 2]\n  <<: *x\n");
    given("base: &x {k: 1}\na:\n  k: 2\n  <<: [*x]\n")
        .replace("/a/k", json!(3))
        .refuses(ErrorKind::MergeKey);
}

#[test]
fn keys_that_are_not_clear() {
    given("a: {k: 1}\na: {l: 1}\n")
        .add("/a/m", json!(1))
        .refuses(ErrorKind::DuplicateKey);
    given("a: {k: 1}\na: {l: 1}\nb: {}\n")
        .add("/b/m", json!(1))
        .gives("a: {k: 1}\na: {l: 1}\nb:\n  m: 1\n");
    given("? a\n: b\n")
        .add("/c", json!(1))
        .refuses(ErrorKind::ExplicitKey);
    given("[a: b]\n")
        .add("/0/c", json!(1))
        .refuses(ErrorKind::FlowPair);
    given("a: !x {k: 1}\n")
        .add("/a/m", json!(1))
        .gives("a: !x {k: 1, m: 1}\n");
    given("T: !FindInMap\n- EnvMap\n- !Ref 'E'\n- Users\n")
        .replace("/T/2", json!("Groups"))
        .gives("T: !FindInMap\n- EnvMap\n- !Ref 'E'\n- Groups\n");
    given("a: !x {k: 1}\n")
        .remove("/a/k")
        .refuses(ErrorKind::Tag);
    given("a: !!map {k: 1}\n")
        .add("/a/m", json!(1))
        .gives("a: !!map {k: 1, m: 1}\n");
    given("a: 1\n")
        .add(&format!("/{}", "k".repeat(2000)), json!(1))
        .refuses(ErrorKind::LongKey);
}

#[test]
fn line_breaks_that_only_some_readers_see() {
    given("a: 1 # x\u{2028}y\n")
        .add("/b", json!(1))
        .refuses(ErrorKind::LineBreaks);
}

#[test]
fn what_the_patch_gets_wrong() {
    given("a: 1\n")
        .remove("/b")
        .refuses(ErrorKind::InvalidPointer);
    given("a: 1\n")
        .add("/a/b", json!(1))
        .refuses(ErrorKind::InvalidPointer);
    given("- 1\n")
        .add("/2", json!(1))
        .refuses(ErrorKind::InvalidPointer);
    given("- 1\n")
        .add("/01", json!(1))
        .refuses(ErrorKind::InvalidPointer);
    given("a: 0644\n")
        .patched_with(json!([{"op": "test", "path": "/a", "value": 644}]))
        .refuses(ErrorKind::TestFailed);
    given("a: 0644\n")
        .patched_with(json!([{"op": "test", "path": "/a", "value": 420}]))
        .gives("a: 0644\n");
    given("a: {b: 1}\n")
        .patched_with(json!([{"op": "move", "from": "/a", "path": "/a/b"}]))
        .refuses(ErrorKind::MovedIntoItself);
}

#[test]
fn lines_that_end_in_bare_carriage_returns_are_left_alone() {
    for text in ["a: 1\rb: 2\r", "a: 1\rb: 2\n", "b: 1\na: [\r1]\n"] {
        given(text)
            .replace("/a", json!(3))
            .refuses(ErrorKind::CarriageReturns);
    }
    given("a: 1\nb: [\r2]\n")
        .replace("/a", json!(3))
        .gives("a: 3\nb: [\r2]\n");
}
