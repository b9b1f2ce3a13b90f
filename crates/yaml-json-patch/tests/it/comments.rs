//! The owner of a comment: for reading and writing it, and for what moves and goes.

use serde_json::json;
use yaml_json_patch::CommentPlace::{self, Above, LineEnd};
use yaml_json_patch::{Editor, apply};

#[track_caller]
fn commented(text: &str, path: &str, place: CommentPlace, comment: &str, expected: &str) {
    let mut editor = Editor::new(text).unwrap();
    let before = editor.comment(path, place).unwrap();
    editor.set_comment(path, place, comment).unwrap();
    assert_eq!(editor.finish(), expected, "{text}");
    editor.set_comment(path, place, comment).unwrap();
    assert_eq!(editor.finish(), expected, "again: {text}");
    editor
        .set_comment(path, place, &before.unwrap_or_default())
        .unwrap();
    assert_eq!(editor.finish(), text, "and back");
}

#[track_caller]
fn removed(text: &str, path: &str, expected: &str) {
    let mut editor = Editor::new(text).unwrap();
    assert!(editor.remove(path).unwrap());
    assert_eq!(editor.finish(), expected, "{text}");
}

#[track_caller]
fn moved(text: &str, from: &str, path: &str, expected: &str) {
    let patch = json!([{"op": "move", "from": from, "path": path}]);
    let patched = apply(text, &serde_json::from_value(patch).unwrap()).unwrap();
    assert_eq!(patched, expected, "{text}");
}

#[test]
fn a_comment_in_another_column_is_of_another_element() {
    for (text, path, expected) in [
        (
            "resources:\n  limits: 1\n  # requests: 2\nimage: x\n",
            "/image",
            "resources:\n  limits: 1\n  # requests: 2\n# Own.\nimage: x\n",
        ),
        (
            "a:\n  b: 1\n# left\n  c: 2\n",
            "/a/c",
            "a:\n  b: 1\n# left\n  # Own.\n  c: 2\n",
        ),
        (
            "l:\n  - a\n  # - b\nm: 1\n",
            "/m",
            "l:\n  - a\n  # - b\n# Own.\nm: 1\n",
        ),
        (
            "a: 1\n# of a\n  # and more\nb: 2\n",
            "/b",
            "a: 1\n# of a\n  # and more\n# Own.\nb: 2\n",
        ),
        (
            "- k: 1\n  # j: 2\n- m: 3\n",
            "/1",
            "- k: 1\n  # j: 2\n# Own.\n- m: 3\n",
        ),
    ] {
        let editor = Editor::new(text).unwrap();
        assert_eq!(editor.comment(path, Above).unwrap(), None, "{text}");
        commented(text, path, Above, "Own.", expected);
    }
}

#[test]
fn an_item_that_is_commented_out_is_of_its_list() {
    for list in [
        "#- ../webhook\n",
        "# [WEBHOOK] With certificates:\n#- ../webhook\n",
        "# - ../webhook\n#- ../certmanager\n",
        "#- path: a.yaml\n#  target:\n#    kind: Pod\n",
        "# - path: a.yaml\n#   target: b\n",
    ] {
        let text = format!("resources:\n- ../crd\n{list}patches:\n- a\n{list}- b\n");
        let text = text.as_str();
        let with = |own: &str, rest: &str| {
            format!("resources:\n- ../crd\n{list}{own}patches:\n- a\n{rest}")
        };
        let expected = with("# Own.\n", &format!("{list}- b\n"));
        commented(text, "/patches", Above, "Own.", &expected);
        let expected = with("", &format!("{list}# Own.\n- b\n"));
        commented(text, "/patches/1", Above, "Own.", &expected);
        // Its own comment is below.
        let own = with("# Old.\n", &format!("{list}- b\n"));
        commented(&own, "/patches", Above, "Own.", &own.replace("Old", "Own"));
        removed(text, "/patches/1", &with("", list));
        removed(
            text,
            "/patches",
            &with("", "").replace("patches:\n- a\n", ""),
        );
        moved(
            &text.replace("patches:", "images:\n- c\npatches:"),
            "/patches/1",
            "/images/-",
            &with("", list).replace("patches:", "images:\n- c\n- b\npatches:"),
        );
        let mut editor = Editor::new(text).unwrap();
        editor
            .insert_before("/images", "patches", json!([]))
            .unwrap();
        assert_eq!(
            editor.finish(),
            with("images: []\n", &format!("{list}- b\n"))
        );
        removed(&editor.finish(), "/images", text);
    }
    for (text, path, expected) in [
        ("r:\n- a\n#- b\n", "/i", "r:\n- a\n#- b\ni: 1\n"),
        ("r:\n#- a\n#- b\n", "/i", "r:\n#- a\n#- b\ni: 1\n"),
        ("r:\n- a\n#- b", "/i", "r:\n- a\n#- b\ni: 1"),
        (
            "r:\n- a\n# - b:\n#     c\n# end\n",
            "/i",
            "r:\n- a\n# - b:\n#     c\ni: 1\n# end\n",
        ),
        (
            "x:\n  r:\n  - a\n  #- b\ny: 1\n",
            "/x/i",
            "x:\n  r:\n  - a\n  #- b\n  i: 1\ny: 1\n",
        ),
        (
            "r:\n- a\n\n# One of\n# - b\n",
            "/i",
            "r:\n- a\ni: 1\n\n# One of\n# - b\n",
        ),
    ] {
        let mut editor = Editor::new(text).unwrap();
        editor.set(path, 1).unwrap();
        assert_eq!(editor.finish(), expected);
        removed(expected, path, text);
    }
    commented(
        "r:\n#- a\ni: 1\n",
        "/i",
        Above,
        "Own.",
        "r:\n#- a\n# Own.\ni: 1\n",
    );
    // A list of words in the comment of a key that no such list is in front of.
    commented(
        "a: 1\n# One of\n# - x\n# - y\nb: x\n",
        "/b",
        Above,
        "x or y",
        "a: 1\n# x or y\nb: x\n",
    );
}

#[test]
fn the_comment_of_an_item_is_that_of_its_first_key() {
    let text = "images:\n- name: web\n  newTag: 1.2.3\n";
    for path in ["/images/0", "/images/0/name"] {
        let above = "images:\n# the web\n- name: web\n  newTag: 1.2.3\n";
        commented(text, path, Above, "the web", above);
        let behind = "images:\n- name: web # the web\n  newTag: 1.2.3\n";
        commented(text, path, LineEnd, "the web", behind);
    }
    for (text, path, place, expected) in [
        ("- - a\n  - b\n", "/0", LineEnd, "- - a # c\n  - b\n"),
        ("- - a\n  - b\n", "/0/0", Above, "# c\n- - a\n  - b\n"),
        ("- s:\n    a: 1\n", "/0", LineEnd, "- s: # c\n    a: 1\n"),
        ("-\n  a: 1\n", "/0", LineEnd, "- # c\n  a: 1\n"),
        ("-\n  a: 1\n", "/0", Above, "# c\n-\n  a: 1\n"),
        ("-\n  a: 1\n", "/0/a", Above, "-\n  # c\n  a: 1\n"),
        ("x: &x\n  a: 1\n", "/x", LineEnd, "x: &x # c\n  a: 1\n"),
        ("x: &x\n- !t a\n", "/x/0", LineEnd, "x: &x\n- !t a # c\n"),
        (
            "a: 1\nm:\n  <<: {b: 1}\n  c: 1\n",
            "/m/c",
            LineEnd,
            "a: 1\nm:\n  <<: {b: 1}\n  c: 1 # c\n",
        ),
    ] {
        commented(text, path, place, "c", expected);
    }
}

#[test]
fn the_marker_of_a_comment_stays() {
    for (old, text, new) in [
        ("## @param a One", "@param a Two", "## @param a Two"),
        ("## @param a One", "x\n\ny", "## x\n##\n## y"),
        ("# one", "## @param a", "## @param a"),
        ("## one", "# two", "# two"),
        ("#one", "#123", "# #123"),
        ("###\n# One #\n###", "two", "# two"),
        ("#one\n#two", "one\nthree", "#one\n# three"),
        ("# one", "one\n#\ntwo", "# one\n#\n# two"),
        ("# one\r", "one\ntwo", "# one\r\n# two\r"),
    ] {
        let [old, expected] = [old, new].map(|comment| format!("{comment}\na: 1\n"));
        let mut editor = Editor::new(&old).unwrap();
        editor.set_comment("/a", Above, text).unwrap();
        assert_eq!(editor.finish(), expected);
    }
    commented("a: 1   ## one\n", "/a", LineEnd, "two", "a: 1   ## two\n");
}

#[test]
fn a_comment_that_is_written_back_changes_no_byte() {
    for text in [
        "#a\na: 1#b\n",
        "#   a  \n#\n##b\n#- c\n# # d\na: 1   ##  b  \n",
        "  # a\r\n  #\tb\r\n  a: 1 #\t b\r\n",
        "######\n#\n# x\n#\na: |  # b\n  x\n",
        "#!/bin/sh\n# x\na: [1, # y\n  2] # z\n",
        "a: 1  \n",
        "#\na: 1 #\n",
        "# b\n- a: 1 # c\n",
    ] {
        let mut editor = Editor::new(text).unwrap();
        let path = if text.contains('-') && !text.contains("#-") {
            "/0"
        } else {
            "/a"
        };
        for place in [Above, LineEnd] {
            let comment = editor.comment(path, place).unwrap().unwrap_or_default();
            editor.set_comment(path, place, &comment).unwrap();
            assert_eq!(editor.finish(), text);
        }
    }
}

#[test]
fn no_comment_is_removed_where_none_can_be() {
    for (text, path) in [
        ("{\"a\": 1}\n", "/a"),
        ("a: [b, c]\n", "/a/1"),
        ("a: 1  \n", "/a"),
        ("a: {b: 1}\n", "/a/b"),
    ] {
        let mut editor = Editor::new(text).unwrap();
        for place in [Above, LineEnd] {
            editor.set_comment(path, place, "").unwrap();
        }
        assert_eq!(editor.finish(), text);
        assert!(editor.set_comment("/x", Above, "").is_err());
    }
    let mut editor = Editor::new("a: [b, c]\n").unwrap();
    let error = editor
        .set_comment("/a/1", Above, "x")
        .map(drop)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`/a/1` has no line of its own for a comment"
    );
}

#[test]
fn the_comment_of_an_item_stays_when_it_becomes_a_collection() {
    for (text, value, expected) in [
        (
            "- search # why\n- tags\n",
            json!({"search": {"lang": "en"}}),
            "- search: # why\n    lang: en\n- tags\n",
        ),
        (
            "- \"80:80\" # http\r\n",
            json!({"target": 80, "published": 80}),
            "- target: 80 # http\r\n  published: 80\r\n",
        ),
        ("- a # why", json!([1]), "- - 1 # why"),
        (
            "- | # head\n  a\n# next\n- b\n",
            json!([1]),
            "- - 1\n# next\n- b\n",
        ),
    ] {
        let mut editor = Editor::new(text).unwrap();
        editor.set("/0", value).unwrap();
        assert_eq!(editor.finish(), expected);
    }
}

#[test]
fn what_is_deeper_than_an_element_goes_with_it() {
    for (text, path, expected) in [
        (
            "resources:\n  limits: 1\n  # requests: 2\nimage: x\n",
            "/resources",
            "image: x\n",
        ),
        ("a:\n  x: 1\n\n  # tail\n\nb: 2\n", "/a", "b: 2\n"),
        ("a:\n  x: 1\n# of b\nb: 2\n", "/a", "# of b\nb: 2\n"),
        (
            "a:\n  x: 1\n  # tail\n# of b\nb: 2\n",
            "/a",
            "# of b\nb: 2\n",
        ),
        ("- k: 1\n  # l: 2\n- m: 3\n", "/0", "- m: 3\n"),
        (
            "a:\n  x: 1\n  y:\n    z: 1\n    # tail\n",
            "/a/y",
            "a:\n  x: 1\n",
        ),
        (
            "a:\n  x: 1\n  y:\n    z: 1\n    # tail\n  # of a\nb: 1\n",
            "/a/y",
            "a:\n  x: 1\n  # of a\nb: 1\n",
        ),
        (
            "a:\n  x:\n    y: 1\n    # tail\nb: 1\n",
            "/a/x",
            "a: {}\nb: 1\n",
        ),
        ("- x:\n    y: 1\n    # tail\n  z: 2\n", "/0/x", "- z: 2\n"),
        ("- x:\n    y: 1\n    # tail\n- 2\n", "/0/x", "- {}\n- 2\n"),
        ("a:\n  # x: 1\nb: 2\n", "/a", "b: 2\n"),
        ("a: 1 # why\n     # still\nb: 2\n", "/a", "b: 2\n"),
        ("b: 2\na:\n  x: 1\n  # tail", "/a", "b: 2"),
        ("a:\n  x: 1\n#  y: 2\nb: 2\n", "/a", "#  y: 2\nb: 2\n"),
    ] {
        removed(text, path, expected);
    }
    moved(
        "a:\n  x: 1\n  # tail\nb: {}\nc:\n  d:\n    e: 1\n",
        "/a",
        "/c/d/a",
        "b: {}\nc:\n  d:\n    e: 1\n    a:\n      x: 1\n      # tail\n",
    );
    moved(
        "l:\n- k: 1\n  # tail\n- 2\nm:\n  - 3\n",
        "/l/0",
        "/m/0",
        "l:\n- 2\nm:\n  - k: 1\n    # tail\n  - 3\n",
    );
    moved(
        "a: 1 # why\n  # still\nb:\n  c: 2\n",
        "/a",
        "/b/a",
        "b:\n  c: 2\n  a: 1 # why\n    # still\n",
    );
    moved(
        "l:\n- # about x\n  x: 1\n- 2\nm:\n  - 3\n",
        "/l/0",
        "/m/0",
        "l:\n- 2\nm:\n  - # about x\n    x: 1\n  - 3\n",
    );
    // In brackets there is no place for it.
    moved(
        "a:\n  x: 1\n  # tail\nb: {c: 1}\n",
        "/a",
        "/b/a",
        "  # tail\nb: {c: 1, a: {x: 1}}\n",
    );
}
