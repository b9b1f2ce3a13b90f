//! What is left alone, by name.

use super::given;
use mackerel_agent_injector::patcher::Refusal;
use serde_json::json;

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
