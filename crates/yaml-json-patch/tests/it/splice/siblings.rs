//! New elements are spelled as those beside them.

use super::given;
use serde_json::json;

#[test]
fn an_item_has_the_quotes_of_the_others() {
    given("python: ['3.9', '3.10']\n")
        .add("/python/-", json!("3.11"))
        .gives("python: ['3.9', '3.10', '3.11']\n")
        .and_without(&["/python/2"]);
    given("args:\n- \"--a\"\n- \"--b\"\n")
        .add("/args/-", json!("--c"))
        .gives("args:\n- \"--a\"\n- \"--b\"\n- \"--c\"\n")
        .and_without(&["/args/2"]);
    // One of them has none: they stand where they are needed.
    given("branches:\n- 'release/*'\n- main\n")
        .patched_with(json!([
            {"op": "add", "path": "/branches/-", "value": "dev"},
            {"op": "add", "path": "/branches/-", "value": "**"},
        ]))
        .gives("branches:\n- 'release/*'\n- main\n- dev\n- '**'\n");
    given("- 'it'\n")
        .add("/-", json!("a\tb"))
        .gives("- 'it'\n- \"a\\tb\"\n");
}

#[test]
fn a_member_has_quotes_where_others_have_them_without_need() {
    given("a: 'x'\nb: '1'\n")
        .add("/c", json!("z"))
        .gives("a: 'x'\nb: '1'\nc: 'z'\n");
    given("a: \"x\"\n")
        .add("/c", json!("z"))
        .gives("a: \"x\"\nc: z\n");
    given("scrape: \"true\"\nport: \"9090\"\n")
        .add("/path", json!("/metrics"))
        .gives("scrape: \"true\"\nport: \"9090\"\npath: /metrics\n");
    given("responses:\n  '200': {}\n")
        .add("/responses/404", json!("none"))
        .gives("responses:\n  '200': {}\n  '404': none\n");
    given("a: {b: \"x\", c: \"1\"}\n")
        .add("/a/d", json!("y z"))
        .gives("a: {b: \"x\", c: \"1\", d: \"y z\"}\n");
}

#[test]
fn a_collection_beside_others_in_brackets_has_brackets() {
    given("ports:\n  - { name: a, port: 1 }\n  - { name: b, port: 2 }\n")
        .add("/ports/-", json!({"name": "c", "port": 3}))
        .gives("ports:\n  - { name: a, port: 1 }\n  - { name: b, port: 2 }\n  - { name: c, port: 3 }\n")
        .and_without(&["/ports/2"]);
    given("a: {x: 1}\nb: {x: 2}\n")
        .add("/c", json!({"x": 3}))
        .gives("a: {x: 1}\nb: {x: 2}\nc: {x: 3}\n");
    // One of two members says nothing yet, and a line has an end.
    given("a: {x: 1}\nb: 2\n")
        .add("/c", json!({"x": 3}))
        .gives("a: {x: 1}\nb: 2\nc:\n  x: 3\n");
    let long = "x".repeat(80);
    given("- {x: 1}\n")
        .add("/-", json!({"x": long, "y": 1}))
        .gives(&format!("- {{x: 1}}\n- x: {long}\n  \"y\": 1\n"));
}

#[test]
fn white_space_inside_of_brackets_is_that_of_others() {
    given("a: { b: { c: 1 } }\n")
        .add("/a/d", json!({"e": [1]}))
        .gives("a: { b: { c: 1 }, d: { e: [1] } }\n");
    given("a: [ [ 1 ] ]\n")
        .add("/a/-", json!([2]))
        .gives("a: [ [ 1 ], [ 2 ] ]\n");
}

#[test]
fn a_number_among_keys_that_are_numbers_has_no_quotes() {
    given("200: ok\n404: none\n")
        .add("/500", json!("broken"))
        .gives("200: ok\n404: none\n500: broken\n")
        .and_without(&["/500"]);
    given("200: ok\nx: none\n")
        .add("/500", json!("broken"))
        .gives("200: ok\nx: none\n\"500\": broken\n")
        .and_without(&["/500"]);
    given("200: ok\n")
        .add("/010", json!("broken"))
        .gives("200: ok\n\"010\": broken\n")
        .and_without(&["/010"]);
}
