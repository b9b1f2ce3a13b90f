//! JSON, and YAML in flow style.

use super::given;
use serde_json::json;

#[test]
fn an_element_goes_after_the_last_one_in_brackets() {
    given("a: [x, y]\n")
        .add("/a/-", json!("z"))
        .gives("a: [x, y, z]\n")
        .and_without(&["/a/2"]);
    given("a: [x,y,]\n")
        .add("/a/-", json!("z"))
        .gives("a: [x,y,z,]\n")
        .and_without(&["/a/2"]);
    given("a: [ \"x\" ]\n")
        .add("/a/-", json!("z"))
        .gives("a: [ \"x\", \"z\" ]\n")
        .and_without(&["/a/1"]);
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
    given("[]")
        .add("/-", json!({"c": 1}))
        .gives("[{\"c\": 1}]")
        .and_without(&["/0"]);
    given("a: { }\n")
        .add("/a/b", json!("c"))
        .gives("a: {b: c }\n")
        .and_without(&["/a/b"]);
    given("a: [ ]\n")
        .add("/a/-", json!({"b": "c"}))
        .gives("a: [{b: c} ]\n")
        .and_without(&["/a/0"]);
    given("- []\n")
        .add("/0/-", json!({"b": "c"}))
        .gives("- [{b: c}]\n")
        .and_without(&["/0/0"]);
    given("a: &x {}\n")
        .add("/a/b", json!("c"))
        .gives("a: &x {b: c}\n")
        .and_without(&["/a/b"]);
}

#[test]
fn empty_brackets_after_a_key_become_lines() {
    given("a: [] # why\n  # deeper\nb: 1\n")
        .add("/a/-", json!({"b": "c"}))
        .gives("a: # why\n  - b: c\n  # deeper\nb: 1\n")
        .and_without(&["/a/0"]);
    given("l:\n- a: {}\r\n  b: 1\r\n")
        .add("/l/0/a/c", json!({"d": {}}))
        .gives("l:\n- a:\r\n    c:\r\n      d: {}\r\n  b: 1\r\n")
        .and_without(&["/l/0/a/c"]);
    given("l:\n- a: {}")
        .patched_with(json!([
            {"op": "add", "path": "/l/0/a/c", "value": 1},
            {"op": "add", "path": "/l/0/a/d", "value": 2},
            {"op": "add", "path": "/l/0/e", "value": 3},
        ]))
        .gives("l:\n- a:\n    c: 1\n    d: 2\n  e: 3")
        .and_without(&["/l/0/a/c", "/l/0/a/d", "/l/0/e"]);
}

#[test]
fn an_element_before_others_in_brackets() {
    given("[1, 2]")
        .add("/0", json!(0))
        .gives("[0, 1, 2]")
        .and_without(&["/0"]);
    given("[1, 2]")
        .add("/1", json!(0))
        .gives("[1, 0, 2]")
        .and_without(&["/1"]);
    given("[\n  1,\n  2\n]")
        .add("/0", json!(0))
        .gives("[\n  0,\n  1,\n  2\n]")
        .and_without(&["/0"]);
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
    given("a: [\n  x, # ex\n  y, # why\n  z\n]\n")
        .remove("/a/1")
        .gives("a: [\n  x, # ex\n  z\n]\n");
}

#[test]
fn a_comment_in_brackets_goes_with_its_element() {
    given("l: [\n  v0, # c0\n  v1 # c1\n]\n")
        .remove("/l/1")
        .gives("l: [\n  v0 # c0\n]\n");
    given("l: [\n  v0,\n  v1 # c1\n]\n")
        .remove("/l/1")
        .gives("l: [\n  v0\n]\n");
    given("l: [\n  v0,\n  v1, # c1\n  v2\n]\n")
        .remove("/l/1")
        .gives("l: [\n  v0,\n  v2\n]\n");
    given("l: [\n  v0, # c0\n  v1\n]\n")
        .remove("/l/0")
        .gives("l: [\n  v1\n]\n");
}

#[test]
fn neighbours_in_brackets_go_below_a_comment() {
    let text = "a: {\n  x: 1, # why\n  v: 2,\n  w: 3\n}\n";
    let removes = json!([{"op": "remove", "path": "/a/v"}, {"op": "remove", "path": "/a/w"}]);
    given(text)
        .patched_with(removes.clone())
        .gives("a: {\n  x: 1 # why\n}\n");
    let mut operations = removes;
    operations
        .as_array_mut()
        .unwrap()
        .push(json!({"op": "add", "path": "/a/z", "value": 4}));
    given(text)
        .patched_with(operations)
        .gives("a: {\n  x: 1, # why\n  z: 4\n}\n");
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
        .patched_with(
            json!([{"op": "remove", "path": "/b"}, {"op": "add", "path": "/c", "value": 3}]),
        )
        .gives("{\"a\": 1, \"c\": 3}");
    given("{\"a\": 1, \"b\": 2}")
        .patched_with(json!([{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/b"}, {"op": "add", "path": "/c", "value": 3}]))
        .gives("{\"c\": 3}");
}

#[test]
fn values_in_brackets_are_replaced() {
    given("{\"a\": 1, \"b\": [2]}")
        .replace("/b", json!({"c": null}))
        .gives("{\"a\": 1, \"b\": {\"c\": null}}");
    given("{a, b: 1}")
        .replace("/a", json!("x, y"))
        .gives("{a: \"x, y\", b: 1}");
    given("[1, *a]".replace("1", "&a 1").as_str())
        .replace("/1", json!(2))
        .gives("[&a 1, 2]");
}

#[test]
fn the_whole_document() {
    given("# why\na: 1\n")
        .replace("", json!({"b": [1, {"c": 2}]}))
        .gives("# why\nb:\n  - 1\n  - c: 2\n");
    given("{\"a\": 1}")
        .replace("", json!([1, "x"]))
        .gives("[1, \"x\"]");
    given("").add("", json!({"a": 1})).gives("a: 1\n");
    given("# only a comment")
        .add("", json!({"a": 1}))
        .gives("# only a comment\na: 1");
    given("a: 1\n").replace("", json!("x")).gives("x\n");
}

#[test]
fn kyaml_keeps_its_commas_quotes_and_cuddled_lists() {
    let text = "{\n  kind: \"Pod\",\n  spec: {\n    containers: [{\n      name: \"a\",\n    }],\n    volumes: [],\n  },\n}\n";
    given(text)
        .add("/spec/containers/-", json!({"name": "b", "args": ["x"]}))
        .gives("{\n  kind: \"Pod\",\n  spec: {\n    containers: [{\n      name: \"a\",\n    }, {\n      name: \"b\",\n      args: [\n        \"x\",\n      ],\n    }],\n    volumes: [],\n  },\n}\n")
        .and_without(&["/spec/containers/1"]);
    given(text)
        .add("/spec/containers/0", json!({"name": "b"}))
        .gives("{\n  kind: \"Pod\",\n  spec: {\n    containers: [{\n      name: \"b\",\n    }, {\n      name: \"a\",\n    }],\n    volumes: [],\n  },\n}\n")
        .and_without(&["/spec/containers/0"]);
    given(text)
        .add("/spec/volumes/-", json!({"name": "v", "emptyDir": {}}))
        .gives("{\n  kind: \"Pod\",\n  spec: {\n    containers: [{\n      name: \"a\",\n    }],\n    volumes: [{\n      name: \"v\",\n      emptyDir: {},\n    }],\n  },\n}\n")
        .and_without(&["/spec/volumes/0"]);
    given(text)
        .add("/metadata", json!({"labels": {"a": "b"}, "list": [{"c": 1}]}))
        .gives("{\n  kind: \"Pod\",\n  spec: {\n    containers: [{\n      name: \"a\",\n    }],\n    volumes: [],\n  },\n  metadata: {\n    labels: {\n      a: \"b\",\n    },\n    list: [{\n      c: 1,\n    }],\n  },\n}\n")
        .and_without(&["/metadata"]);
    given("a: [\n  x,\n  y,\n]\n")
        .add("/a/-", json!("z"))
        .gives("a: [\n  x,\n  y,\n  z,\n]\n")
        .and_without(&["/a/2"]);
}

#[test]
fn kyaml_is_as_kubectl_prints_it() {
    given("{\n  kind: \"A\",\n  a: [{\n    b: \"c\",\n  }],\n}\n")
        .replace("/a/0", json!("d"))
        .gives("{\n  kind: \"A\",\n  a: [\n    \"d\",\n  ],\n}\n");
    given("{\n  a: [\n    \"d\",\n  ],\n}\n")
        .replace("/a/0", json!([1]))
        .gives("{\n  a: [[\n    1,\n  ]],\n}\n");
    given("{\n  a: [\n    \"d\",\n  ],\n}\n")
        .add("/e", json!([{}, "f"]))
        .gives("{\n  a: [\n    \"d\",\n  ],\n  e: [\n    {},\n    \"f\",\n  ],\n}\n")
        .and_without(&["/e"]);
    given("{\n  kind: \"A\",\n  a: {\n    \"8080\": \"b\",\n  },\n}\n")
        .add("/a/c", json!("d"))
        .gives("{\n  kind: \"A\",\n  a: {\n    \"8080\": \"b\",\n    c: \"d\",\n  },\n}\n")
        .and_without(&["/a/c"]);
    given("{\n  ingress: [{}],\n}\n")
        .add("/ingress/-", json!({"from": []}))
        .gives("{\n  ingress: [{}, {\n    from: [],\n  }],\n}\n")
        .and_without(&["/ingress/1"]);
}

#[test]
fn json_has_cuddled_lists_where_it_has_others() {
    let text = "{\n  \"a\": [{\n    \"b\": 1\n  }],\n  \"c\": []\n}\n";
    given(text)
        .add("/c/-", json!({"d": [{"e": 2}]}))
        .gives("{\n  \"a\": [{\n    \"b\": 1\n  }],\n  \"c\": [{\n    \"d\": [{\n      \"e\": 2\n    }]\n  }]\n}\n")
        .and_without(&["/c/0"]);
    given("{\n  \"a\": [\n    {}\n  ],\n  \"c\": []\n}\n")
        .add("/c/-", json!({"d": []}))
        .gives("{\n  \"a\": [\n    {}\n  ],\n  \"c\": [\n    {\n      \"d\": []\n    }\n  ]\n}\n")
        .and_without(&["/c/0"]);
}

#[test]
fn no_tab_is_below_a_word() {
    given("{\n\tb: [{\n\t\tc: 'd'\n\t}]\n}\n")
        .add("/b/-", json!({"c": 1}))
        .gives("{\n\tb: [{\n\t\tc: 'd'\n\t}, {c: 1}]\n}\n")
        .and_without(&["/b/1"]);
}

#[test]
fn a_comment_behind_the_last_element_stays_with_it() {
    let kyaml = "{\n  a: [{\n    b: \"x\",\n  }, # why\n  ],\n}\n";
    given(kyaml)
        .add("/a/-", json!({"b": "y"}))
        .gives("{\n  a: [{\n    b: \"x\",\n  }, # why\n  {\n    b: \"y\",\n  },\n  ],\n}\n")
        .and_without(&["/a/1"]);
    given("{\n  a: [{\n    b: \"x\"\n  } # why\n  ]\n}\n")
        .add("/a/-", json!({"b": "y"}))
        .gives("{\n  a: [{\n    b: \"x\"\n  }, # why\n  {\n    b: \"y\"\n  }\n  ]\n}\n")
        .and_without(&["/a/1"]);
    given("{\n  a: b # why\n,  }\n")
        .add("/c", json!("d"))
        .gives("{\n  a: b # why\n, c: d,  }\n")
        .and_without(&["/c"]);
    given("a: {b: {c: d} # why\n }\n")
        .add("/a/e", json!("f"))
        .gives("a: {b: {c: d}, e: f # why\n }\n")
        .and_without(&["/a/e"]);
    given("a: { b: c,\t# why\n }\n")
        .add("/a/e", json!("f"))
        .gives("a: { b: c, e: f,\t# why\n }\n")
        .and_without(&["/a/e"]);
}

#[test]
fn nothing_slips_into_the_comment_above_what_is_removed() {
    for (text, path, left) in [
        (
            "{\n  a: 1, # why\n  b: 2 }\n",
            "/b",
            "{\n  a: 1 # why\n   }\n",
        ),
        ("[\n 1, # why\n 2, 3 ]\n", "/1", "[\n 1, # why\n  3 ]\n"),
        ("[\n 1, # why\n 2, ]\n", "/1", "[\n 1, # why\n  ]\n"),
        ("[\n 1, # why\n 2\n , 3 ]\n", "/1", "[\n 1 # why\n , 3 ]\n"),
        ("[\n x # why\n , y ]\n", "/1", "[\n x # why\n  ]\n"),
        ("[\n x\n , y, # why\n z ]\n", "/1", "[\n x, # why\n z ]\n"),
        ("[\n x, y, # why\n z ]\n", "/1", "[\n x, # why\n z ]\n"),
    ] {
        given(text).remove(path).gives(left);
    }
}

#[test]
fn a_list_with_a_space_in_its_brackets_is_an_example() {
    given("{\n  \"a\" : [ {\n    \"b\" : 1\n  } ]\n}\n")
        .add("/c", json!([{"b": 2}]))
        .gives("{\n  \"a\" : [ {\n    \"b\" : 1\n  } ],\n  \"c\": [ {\n    \"b\": 2\n  } ]\n}\n")
        .and_without(&["/c"]);
}
