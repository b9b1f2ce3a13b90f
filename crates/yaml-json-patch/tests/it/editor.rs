//! The editor: comments that go along, places of new members, anchors, and errors that say what is there.

use serde_json::json;
use yaml_json_patch::{
    AnchorPolicy, CommentPlace, Editor, Error, Position, Stream, apply, apply_with,
};

#[track_caller]
fn removed(text: &str, path: &str, expected: &str) {
    let mut editor = Editor::new(text).unwrap();
    assert!(editor.remove(path).unwrap());
    assert_eq!(editor.finish(), expected, "{text}");
}

#[test]
fn the_comment_of_a_removed_element_goes_with_it() {
    removed(
        "a: 1\n\n# Of b,\n# alone.\nb: 2\n\n# Of c.\nc: 3\n",
        "/b",
        "a: 1\n\n# Of c.\nc: 3\n",
    );
    removed(
        "l:\n  # First.\n  - a\n  # Second.\n  - b\nm: 1\n",
        "/l/0",
        "l:\n  # Second.\n  - b\nm: 1\n",
    );
    removed(
        "a:\n  x: 1\n  # Last.\n  y: 2\nb: 1\n",
        "/a/y",
        "a:\n  x: 1\nb: 1\n",
    );
    removed("a:\n  # Only.\n  x: 1\nb: 1\n", "/a/x", "a: {}\nb: 1\n");
}

#[test]
fn a_comment_that_may_tell_of_more_stays() {
    // The head of the file.
    removed("# Licence.\na: 1\n\nb: 2\n", "/a", "# Licence.\n\nb: 2\n");
    // It may be about the next one, too.
    removed(
        "a: 1\n# Host and port.\nh: 2\np: 3\n",
        "/h",
        "a: 1\n# Host and port.\np: 3\n",
    );
    // What was commented out is still of use.
    removed(
        "a: 1\n# old: 1\nb: 2\n\nc: 3\n",
        "/b",
        "a: 1\n# old: 1\n\nc: 3\n",
    );
    removed("l:\n- a\n# - b\n- c\n", "/l/1", "l:\n- a\n# - b\n");
}

#[test]
fn the_comments_at_the_end_stay_when_a_new_member_goes_again() {
    for comment in [
        "# tail",
        "# The end of all.",
        "#  tail",
        "##   tail",
        "# of\n#  tail",
        "#  of\n# tail",
        "#  of\n\n#  tail",
        "  # deeper\n#  tail",
        "#  b: 1\n#    text",
    ] {
        for text in ["a: 1\n", "a:\n  c: 1\n"].map(|text| [text, comment].concat()) {
            for text in [[&text, "\n"].concat(), text] {
                let mut editor = Editor::new(&text).unwrap();
                editor.insert("/b", 2).unwrap();
                removed(&editor.finish(), "/b", &text);
            }
        }
    }
}

#[test]
fn a_scalar_of_several_lines_has_no_comment_of_the_next_element() {
    for text in [
        "a: |\n  x\n  # note\nnew: x\n",
        "a: |-\n  x\n  # note\nnew: x\n",
        "a: |+\n  x\n  # note\nnew: x\n",
        "a: >\n  # x\n  # note\nnew: x\n",
        "a: \"d\n# note\"\nnew: x\n",
        "a: 'd\n\n  # '\nnew: x\n",
    ] {
        let mut editor = Editor::new(text).unwrap();
        assert_eq!(editor.comment("/new", CommentPlace::Above).unwrap(), None);
        let above = |comment| text.replace("new: x", &[comment, "new: x"].concat());
        for (comment, line) in [("own", "# own\n"), ("other", "# other\n"), ("", "")] {
            editor
                .set_comment("/new", CommentPlace::Above, comment)
                .unwrap();
            assert_eq!(editor.finish(), above(line));
        }
        removed(
            &above("# own\n"),
            "/new",
            &above("").replace("new: x\n", ""),
        );
    }
    removed("a: \"d\n# \"\nnew: x", "/new", "a: \"d\n# \"");
    let items = "l:\n- |\n  x\n  # note\n- \"y\n  # z\"\n- 3\n";
    for item in ["/l/1", "/l/2"] {
        let mut editor = Editor::new(items).unwrap();
        assert_eq!(editor.comment(item, CommentPlace::Above).unwrap(), None);
        editor
            .set_comment(item, CommentPlace::Above, "own")
            .unwrap();
        let own = editor.comment(item, CommentPlace::Above).unwrap();
        assert_eq!(own.as_deref(), Some("own"));
        editor.set_comment(item, CommentPlace::Above, "").unwrap();
        assert_eq!(editor.finish(), items);
    }
}

#[test]
fn a_member_is_put_before_or_behind_another_one() {
    let mut editor = Editor::new("a: 1\n# Of c.\nc: 3\n").unwrap();
    editor.insert_before("/b", "c", 2).unwrap();
    editor.insert_after("/d", "c", 4).unwrap();
    editor.insert_after("/e", "a", 5).unwrap();
    assert!(editor.insert_before("/x", "z", 1).is_err());
    assert!(editor.insert_after("/a", "c", 1).is_err());
    assert_eq!(editor.finish(), "a: 1\ne: 5\nb: 2\n# Of c.\nc: 3\nd: 4\n");
}

#[test]
fn anchored_values_are_changed_where_that_is_asked_for() {
    let text = "x: &x # base\n  image: a:1\n  deep: &d [1]\ny:\n  <<: *x\nz: *d\n";
    let mut editor = Editor::new(text).unwrap();
    assert!(editor.set("/x/image", "a:2").is_err());
    editor.anchors(AnchorPolicy::Follow);
    editor.set("/x/image", "a:2").unwrap();
    editor.set("/x/deep/-", 2).unwrap();
    // The alias would lead nowhere.
    assert!(editor.set("/x/deep", 1).is_err());
    assert!(editor.remove("/x").is_err());
    assert_eq!(
        editor.finish(),
        "x: &x # base\n  image: a:2\n  deep: &d [1, 2]\ny:\n  <<: *x\nz: *d\n"
    );
}

#[test]
fn an_error_of_a_path_says_how_far_it_leads() {
    let text = "a:\n  b: 1\nl: [1, 2]\nn:\n";
    let mut editor = Editor::new(text).unwrap();
    for (path, message, place) in [
        ("/a/b/c", "`/a/b` is 1, not a mapping or a list", "2:6"),
        ("/l/7", "`/l` has 2 items, and none at `7`", "3:4"),
        ("/l/x", "`/l` has 2 items, and none at `x`", "3:4"),
        ("/x/0", "the document has no `x`", "1:1"),
        (
            "a/b",
            "`a/b` is no JSON Pointer, which begins with `/`",
            "1:1",
        ),
    ] {
        let error = editor.set(path, 3).map(drop).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(
            Position::of(text, error.offset()).to_string(),
            place,
            "{path}"
        );
    }
    let error = editor.rename("/a/x", "y").map(drop).unwrap_err();
    assert_eq!(error.to_string(), "`/a` has no `x`");
    let error = editor.rename("/a", "l").map(drop).unwrap_err();
    assert_eq!(error.to_string(), "`/l` is there already");
    let document = "the path is that of the document, not of a member or an item";
    for error in [
        editor.remove("").map(drop),
        editor.rename("", "y").map(drop),
        editor.insert_before("", "a", 1).map(drop),
        editor.insert_after("", "a", 1).map(drop),
    ] {
        assert_eq!(error.unwrap_err().to_string(), document);
    }
    for (path, other) in [("/l/1", "0"), ("/l/x", "1"), ("/l/0", "7")] {
        let before = editor.insert_before(path, other, 1).map(drop).unwrap_err();
        let after = editor.insert_after(path, other, 1).map(drop).unwrap_err();
        for error in [before, after] {
            assert!(
                error.to_string().starts_with("only a member has a place"),
                "{error}"
            );
        }
    }
    assert_eq!(editor.finish(), text);
}

#[test]
fn a_test_says_what_it_found() {
    let patch = serde_json::json!([{"op": "test", "path": "/a/b", "value": 2}]);
    let text = "a:\n  b: 1\n";
    let error = yaml_json_patch::apply(text, &serde_json::from_value(patch).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "operation 0 (path `/a/b`): `/a/b` is 1, not 2"
    );
    assert_eq!(Position::of(text, error.offset()).to_string(), "2:6");
}

#[test]
fn a_comment_cannot_end_its_line() {
    let text = "a: 1\n";
    let mut editor = Editor::new(text).unwrap();
    for comment in ["x\ry: 2", "x\u{85}y: 2", "x\u{2028}y: 2", "\0"] {
        for place in [CommentPlace::LineEnd, CommentPlace::Above] {
            let error = editor.set_comment("/a", place, comment).unwrap_err();
            assert!(
                error.to_string().starts_with("a comment cannot have"),
                "{error}"
            );
        }
    }
    assert_eq!(editor.finish(), text);
    editor
        .set_comment("/a", CommentPlace::Above, "x\r\ny: 2")
        .unwrap();
    assert_eq!(editor.finish(), "# x\n# y: 2\na: 1\n");
}

#[test]
fn a_block_that_ends_the_text_without_a_line_break_keeps_its_value() {
    for (text, expected) in [
        ("a: 1\nb: |\n  x", "a: 1\nb: |-\n  x\nc: 2\n"),
        (
            "a: 1\nb: >2 # why\n   x",
            "a: 1\nb: >2- # why\n   x\nc: 2\n",
        ),
        (
            "b: |+\r\n  x\r\n\r\n  y",
            "b: |-\r\n  x\r\n\r\n  y\r\nc: 2\r\n",
        ),
        ("b: |-\n  x", "b: |-\n  x\nc: 2"),
        ("b:\n- k: |\n    x", "b:\n- k: |-\n    x\nc: 2\n"),
    ] {
        let value = Editor::new(text).unwrap().get("/b").unwrap();
        for edit in [
            |editor: &mut Editor| editor.insert_after("/c", "b", 2).map(drop),
            |editor: &mut Editor| editor.set("/c", 2).map(drop),
        ] {
            let mut editor = Editor::new(text).unwrap();
            edit(&mut editor).unwrap();
            assert_eq!(editor.finish(), expected);
            assert_eq!(editor.get("/b").unwrap(), value);
        }
    }
    // One that goes has no header left that could be another one.
    for (text, expected) in [
        ("b: |+", "b:\n  c: 1"),
        ("a: 1\nb: > # why", "a: 1\nb: # why\n  c: 1"),
        ("a:\n- 1\nb: |", "a:\n- 1\nb:\n  c: 1"),
    ] {
        let mut editor = Editor::new(text).unwrap();
        editor.set("/b", json!({"c": 1})).unwrap();
        assert_eq!(editor.finish(), expected);
    }
    // A patch leaves the header as it is.
    let text = "a: 1\nb: |\n  x";
    let patch = json!([{"op": "add", "path": "/c", "value": 2}]);
    let patched = apply(text, &serde_json::from_value(patch).unwrap()).unwrap();
    assert_eq!(patched, "c: 2\na: 1\nb: |\n  x");
    let mut editor = Editor::new(text).unwrap();
    editor.insert_after("/c", "a", 2).unwrap();
    assert_eq!(editor.finish(), "a: 1\nc: 2\nb: |\n  x");
}

#[test]
fn a_value_that_json_does_not_have_does_not_hinder_edits_beside_it() {
    for first in [
        "m: .inf",
        "m: [.nan]",
        "~: 1",
        "null: {a: 1}",
        "? [x]\n: 1",
        "m: {{ x }}",
        "{a: 1}: 2",
        "m: !!binary \"?\"",
        "<<: 1",
        "m: &m [*m]",
        "1.5: x",
        "18446744073709551616: x",
    ] {
        let text = format!(
            "{first}\na: 1\nl:\n  {}\n  b: 2\n",
            first.replace('\n', "\n  ")
        );
        let mut editor = Editor::new(&text).unwrap();
        let edited = |editor: &mut Editor| -> Result<(), yaml_json_patch::Error> {
            editor.set("/l/new", 1)?.insert("/l/other", 2)?;
            editor
                .insert_before("/l/before", "b", 3)?
                .insert_after("/l/after", "b", 4)?;
            editor.set_comment("/l/b", CommentPlace::Above, "b")?;
            editor.set_comment("/l/new", CommentPlace::LineEnd, "new")?;
            assert_eq!(
                editor.comment("/l/b", CommentPlace::Above)?.as_deref(),
                Some("b")
            );
            editor.set("/m2/new", 5)?.set("/a", 6)?.rename("/a", "c")?;
            assert!(editor.remove("/l/after")?);
            Ok(())
        };
        let result = edited(&mut editor);
        if first.starts_with('?') {
            // Keys with `? ` are not edited.
            assert!(result.is_err());
            continue;
        }
        result.unwrap_or_else(|error| panic!("{first}: {error}"));
        let expected = text.replace("a: 1\nl:", "c: 6\nl:").replace(
            "  b: 2\n",
            "  before: 3\n  # b\n  b: 2\n  new: 1 # new\n  other: 2\nm2:\n  new: 5\n",
        );
        assert_eq!(editor.finish(), expected);
    }
}

#[test]
fn a_merged_field_gets_another_one_beside_it() {
    let text = "x: &x {a: 1, m: {k: 1}}\nc:\n  <<: *x\n  b: 2\n";
    for edit in [
        |editor: &mut Editor| editor.set("/c/a", 5).map(drop),
        |editor: &mut Editor| editor.insert("/c/a", 5).map(drop),
        |editor: &mut Editor| editor.insert_after("/c/a", "b", 5).map(drop),
    ] {
        let mut editor = Editor::new(text).unwrap();
        edit(&mut editor).unwrap();
        assert_eq!(editor.finish(), [text, "  a: 5\n"].concat());
    }
    let mut editor = Editor::new(text).unwrap();
    editor.insert_before("/c/m", "b", 5).unwrap();
    editor
        .set_comment("/c/b", CommentPlace::LineEnd, "own")
        .unwrap();
    assert_eq!(
        editor.finish(),
        text.replace("  b: 2", "  m: 5\n  b: 2 # own")
    );
    // A part of it cannot be set without the others.
    let mut editor = Editor::new(text).unwrap();
    assert!(editor.set("/c/m/k", 2).is_err());
    assert!(editor.insert_before("/c/n", "a", 2).is_err());
    assert!(editor.rename("/c/b", "a").is_err());
    assert_eq!(editor.finish(), text);
}

#[test]
fn a_dash_makes_a_list() {
    for (text, path, expected) in [
        ("r:\n\ni: []\n", "/r/-", "r:\n  - a\n\ni: []\n"),
        ("r: ~\n", "/r/-", "r:\n  - a\n"),
        ("i: 1\n", "/r/-", "i: 1\nr:\n  - a\n"),
        ("i: 1\n", "/r/-/b/-", "i: 1\nr:\n  - b:\n      - a\n"),
        ("r: [b]\n", "/r/-", "r: [b, a]\n"),
        ("r: [b]\n", "/r/0", "r: [a]\n"),
        ("r:\n- b\n", "/r/1", "r:\n- b\n- a\n"),
        ("r:\n- b:\n", "/r/0/b/-", "r:\n- b:\n  - a\n"),
    ] {
        let mut editor = Editor::new(text).unwrap();
        editor.set(path, "a").unwrap();
        assert_eq!(editor.finish(), expected, "{text} {path}");
    }
    for (text, path) in [
        ("r:\n", "/r/0"),
        ("r: 1\n", "/r/-"),
        ("i: 1\n", "/r/0"),
        ("r: [b]\n", "/r/2"),
    ] {
        let error = Editor::new(text).unwrap().set(path, "a").map(drop);
        assert!(error.is_err(), "{text} {path}");
    }
}

#[test]
fn a_member_beside_another_one_leaves_the_head_of_a_section_in_place() {
    let text = "a: 1\n\n# section B\n\n# Of b.\nb: 2\n\nc: 3\n";
    for (edited, expected) in [
        (
            Editor::new(text).unwrap().insert_before("/new", "b", 5),
            text.replace("# Of b.", "new: 5\n\n# Of b."),
        ),
        (
            Editor::new(text).unwrap().insert_after("/new", "a", 5),
            text.replace("\n\n# section", "\n\nnew: 5\n\n# section"),
        ),
        (
            Editor::new(text).unwrap().insert_before("/new", "c", 5),
            text.replace("c: 3", "new: 5\n\nc: 3"),
        ),
        (
            Editor::new(text).unwrap().insert_before("/new", "a", 5),
            ["new: 5\n\n", text].concat(),
        ),
    ] {
        let mut editor = edited.unwrap().clone();
        assert_eq!(editor.finish(), expected);
        removed(&expected, "/new", text);
        assert!(editor.remove("/new").unwrap());
    }
    for (text, expected) in [
        (
            "a:\n  b: 1\n# left\n  c: 2\n",
            "a:\n  b: 1\n# left\n  new: 5\n  c: 2\n",
        ),
        (
            "a:\n  b: 1\n    # deeper\n  c: 2\n",
            "a:\n  b: 1\n    # deeper\n  new: 5\n  c: 2\n",
        ),
        (
            "a:\n  b: 1\n  # head\n\n  c: 2\n",
            "a:\n  b: 1\n  # head\n\n  new: 5\n\n  c: 2\n",
        ),
        ("a: {b: 1, c: 2}\n", "a: {b: 1, new: 5, c: 2}\n"),
    ] {
        let mut editor = Editor::new(text).unwrap();
        editor.insert_before("/a/new", "c", 5).unwrap();
        assert_eq!(editor.finish(), expected);
        removed(expected, "/a/new", text);
    }
}

#[test]
fn a_path_leads_through_aliases_where_that_is_asked_for() {
    let text = "\
x-web: &web
  image: a:1
  ports: &p [1]
services:
  a: *web
  b:
    ports: *p
list:
- &item {k: 1}
- *item
";
    let follow = |edit: fn(&mut Editor) -> Result<(), Error>| {
        let mut editor = Editor::new(text).unwrap();
        assert!(edit(&mut editor).is_err());
        edit(editor.anchors(AnchorPolicy::Follow)).unwrap();
        editor.finish()
    };
    let set = |path: &str, value, expected: &str| {
        let error = Editor::new(text).unwrap().set(path, value).map(drop);
        assert!(error.unwrap_err().help().contains("`AnchorPolicy::Follow`"));
        let patch = json!([{"op": "add", "path": path, "value": value}]);
        let patch = serde_json::from_value(patch).unwrap();
        let patched = apply_with(text, &patch, AnchorPolicy::Follow).unwrap();
        assert_eq!(patched, expected);
        assert!(apply(text, &patch).is_err());
        let mut editor = Editor::new(text).unwrap();
        editor
            .anchors(AnchorPolicy::Follow)
            .set(path, value)
            .unwrap();
        assert_eq!(editor.finish(), expected);
    };
    set("/services/a/image", 2, &text.replace("a:1", "2"));
    set("/services/a/new", 2, &text.replace("[1]", "[1]\n  new: 2"));
    set("/services/a/ports/-", 2, &text.replace("[1]", "[1, 2]"));
    set("/services/b/ports/-", 2, &text.replace("[1]", "[1, 2]"));
    set("/list/1/k", 2, &text.replace("{k: 1}", "{k: 2}"));
    assert_eq!(
        follow(|editor| editor.remove("/services/a/image").map(drop)),
        text.replace("  image: a:1\n", "")
    );
    assert_eq!(
        follow(|editor| editor.rename("/services/a/image", "i").map(drop)),
        text.replace("image", "i")
    );
    assert_eq!(
        follow(|editor| editor.insert_after("/services/a/new", "image", 2).map(drop)),
        text.replace("a:1\n", "a:1\n  new: 2\n")
    );
    // An alias itself is replaced. An index may mean another item once one is gone, and a list may hold itself.
    let mut editor = Editor::new(text).unwrap();
    editor
        .anchors(AnchorPolicy::Follow)
        .set("/services/a", 1)
        .unwrap();
    assert_eq!(editor.finish(), text.replace("a: *web", "a: 1"));
    let patch = json!([{"op": "move", "from": "/x-web/image", "path": "/list/1/i"}]);
    let moved = apply_with(
        text,
        &serde_json::from_value(patch).unwrap(),
        AnchorPolicy::Follow,
    );
    assert!(moved.is_err());
    let mut editor = Editor::new("a: &a [*a, 1]\n").unwrap();
    editor
        .anchors(AnchorPolicy::Follow)
        .set("/a/0/0/0/1", 2)
        .unwrap();
    assert_eq!(editor.finish(), "a: &a [*a, 2]\n");
    // No policy mends this.
    let error = editor.remove("/a").unwrap_err();
    assert!(!error.help().contains("Follow"), "{}", error.help());
}

#[test]
fn comments_without_a_document_become_the_head_of_the_first_one() {
    for (text, expected) in [
        ("", "a: 1\n---\nb: 2\n"),
        ("# Licence.\n", "# Licence.\na: 1\n---\nb: 2\n"),
        ("# Licence.\n\n", "# Licence.\n\na: 1\n---\nb: 2\n"),
        ("# Licence.", "# Licence.\na: 1\n---\nb: 2\n"),
        ("# L.\r\n", "# L.\r\na: 1\r\n---\r\nb: 2\r\n"),
        ("\u{feff}# L.\n", "\u{feff}# L.\na: 1\n---\nb: 2\n"),
        ("# L.\n---\n", "# L.\n---\n---\na: 1\n---\nb: 2\n"),
        ("c: 3\n...\n# L.\n", "c: 3\n...\n# L.\na: 1\n---\nb: 2\n"),
    ] {
        let mut stream = Stream::new(text).unwrap();
        stream.push(json!({"a": 1})).unwrap();
        stream.push(json!({"b": 2})).unwrap();
        assert_eq!(stream.finish(), expected, "{text:?}");
    }
}

#[test]
fn a_value_that_is_there_already_changes_no_byte() {
    let text = "\
a: &x {k: 1, # one
  l: [a]}
b: *x
mode: 0644
word: 'yes'
text: >-
  a
  b
none:
";
    let whole = Editor::new(text).unwrap().get("").unwrap().unwrap();
    for (path, value) in [
        ("", whole),
        ("/a", json!({"l": ["a"], "k": 1})),
        ("/b", json!({"k": 1, "l": ["a"]})),
        ("/mode", json!(420)),
        ("/word", json!("yes")),
        ("/text", json!("a b")),
        ("/none", json!(null)),
    ] {
        let mut editor = Editor::new(text).unwrap();
        editor.set(path, value.clone()).unwrap();
        assert_eq!(editor.finish(), text, "{path}");
        for op in ["add", "replace"] {
            let patch = json!([{"op": op, "path": path, "value": value}]);
            let patch = serde_json::from_value(patch).unwrap();
            assert_eq!(apply(text, &patch).unwrap(), text, "{op} {path}");
        }
    }
    // Another type is another value, what a tag says is not in it, and programs read a word without quotes as they like.
    for (text, value, expected) in [
        ("a: 1\n", json!("1"), "a: \"1\"\n"),
        ("a: 1\n", json!(1.0), "a: 1.0\n"),
        ("a: !Ref b\n", json!("b"), "a: b\n"),
        ("x: &x !Ref b\na: *x\n", json!("b"), "x: &x !Ref b\na: b\n"),
        ("a: 22:22\n", json!("22:22"), "a: \"22:22\"\n"),
        ("a: on\n", json!(true), "a: true\n"),
    ] {
        let mut editor = Editor::new(text).unwrap();
        editor.set("/a", value).unwrap();
        assert_eq!(editor.finish(), expected);
    }
}

#[test]
fn an_element_in_brackets_has_comments_on_its_own_lines() {
    let text = "{\n  kind: \"Pod\",\n  args: [\n    \"a\",\n    \"b\"\n  ],\n  more: [{c: 1}]\n}\n";
    let mut editor = Editor::new(text).unwrap();
    for (path, place, comment) in [
        ("/kind", CommentPlace::LineEnd, "kind"),
        ("/args/0", CommentPlace::Above, "first"),
        ("/args/1", CommentPlace::LineEnd, "last"),
        ("/more", CommentPlace::LineEnd, "more"),
    ] {
        editor.set_comment(path, place, comment).unwrap();
        assert_eq!(
            editor.comment(path, place).unwrap().as_deref(),
            Some(comment)
        );
    }
    assert_eq!(
        editor.finish(),
        "{\n  kind: \"Pod\", # kind\n  args: [\n    # first\n    \"a\",\n    \"b\" # last\n  ],\n  more: [{c: 1}] # more\n}\n"
    );
    // Other values share the line, and JSON has no comments.
    for (text, path) in [
        ("a: [b, c]\n", "/a/0"),
        ("a: [b,\n  c]\n", "/a/0"),
        ("a: [b,\n  c]\n", "/a/1"),
        ("{\n  \"a\": 1\n}\n", "/a"),
    ] {
        let mut editor = Editor::new(text).unwrap();
        let refused = editor.set_comment(path, CommentPlace::LineEnd, "why");
        assert!(refused.is_err(), "{text}");
    }
}

#[test]
fn a_path_is_a_text_or_a_row_of_keys_and_indices() {
    let mut editor = Editor::new("a/b:\n- x: 1\n").unwrap();
    let (pointer, key, keys) = (String::from("/a~1b/0/x"), String::from("x"), ["a/b", "0"]);
    editor.set(&pointer, 2).unwrap();
    editor.set(pointer, 3).unwrap();
    editor.set(["a/b", "0", &key], 4).unwrap();
    editor.set([keys.as_slice(), &["x"]].concat(), 5).unwrap();
    editor
        .set(keys.map(String::from).to_vec(), json!([6]))
        .unwrap();
    assert_eq!(editor.get([""; 0]).unwrap(), Some(json!({"a/b": [[6]]})));
    assert!(editor.contains(&keys[..]).unwrap());
    assert!(!editor.contains("/a~1b/1").unwrap());
    let error = editor.contains("a/b").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a/b` is no JSON Pointer, which begins with `/`"
    );
}

#[test]
fn keys_are_those_of_a_mapping() {
    let editor =
        Editor::new("x: &x {b: 1}\nv: {<<: *x, on: 1, 2: 2, ~: 3}\nz: *x\nl: [a]\n").unwrap();
    for (path, expected) in [
        ("", &["x", "v", "z", "l"][..]),
        ("/v", &["true", "2"]),
        ("/z", &["b"]),
        ("/l", &[]),
        ("/none", &[]),
    ] {
        assert_eq!(editor.keys(path).unwrap(), expected, "{path}");
    }
}

#[test]
fn documents_do_not_become_one() {
    let text = "a: 1\n---\nb: 2\n...\nc: 3\n";
    let mut stream = Stream::new(text).unwrap();
    assert_eq!(stream.len(), 3);
    assert!(stream.remove(1).is_err());
    assert_eq!(stream.finish(), text);
    assert!(stream.remove(2).unwrap());
    assert!(!stream.remove(2).unwrap());
    let kinds: Vec<_> = stream
        .iter()
        .map(|document| document.keys("").unwrap())
        .collect();
    assert_eq!(kinds, [["a"], ["b"]]);
}
