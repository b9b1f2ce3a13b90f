//! New text beside other text, as a person would write it: files that people edit, and what one call makes of them.

use crate::splice::visible;
use serde_json::{Value, json};
use yaml_json_patch::{Editor, Stream};

/// A text, what is set in it at a path, and what it becomes.
type Situation<'t> = (&'t str, &'t str, Value, &'t str);

#[track_caller]
fn check(situations: &[Situation<'_>]) {
    for (text, path, value, expected) in situations {
        let mut editor = Editor::new(text).unwrap();
        // A path that ends in `-` names the new item.
        let is_new = path.ends_with('-') || editor.get(*path).unwrap().is_none();
        editor.set(*path, value.clone()).unwrap();
        let edited = editor.finish();
        assert_eq!(
            visible(&edited),
            visible(expected),
            "{path}: {value}, given:\n{}",
            visible(text)
        );
        if is_new {
            let list = path.strip_suffix("/-");
            let path = list.map_or((*path).to_owned(), |list| {
                let items = editor.get(list).unwrap().unwrap();
                format!("{list}/{}", items.as_array().unwrap().len() - 1)
            });
            assert!(editor.remove(path.as_str()).unwrap());
            let back = editor.finish();
            assert_eq!(visible(&back), visible(text), "without {path}");
        }
    }
}

#[test]
fn sections_stand_apart() {
    check(&[
        (
            "name: app\nversion: 1.0.0\n\nenvironment:\n  sdk: ^3.4.0\n\ndependencies:\n  http: ^1.2.0\n",
            "/dev_dependencies",
            json!({"lints": "^4.0.0"}),
            "name: app\nversion: 1.0.0\n\nenvironment:\n  sdk: ^3.4.0\n\ndependencies:\n  http: ^1.2.0\n\ndev_dependencies:\n  lints: ^4.0.0\n",
        ),
        (
            "name: app\nservices:\n  web:\n    image: a\n\nvolumes:\n  data:\n",
            "/networks",
            json!({"front": {"driver": "bridge"}}),
            "name: app\nservices:\n  web:\n    image: a\n\nvolumes:\n  data:\n\nnetworks:\n  front:\n    driver: bridge\n",
        ),
        (
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\nresources:\n  - a.yaml\n",
            "/configMapGenerator",
            json!([{"name": "c"}]),
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\nresources:\n  - a.yaml\n\nconfigMapGenerator:\n  - name: c\n",
        ),
        (
            "jobs:\n  lint:\n    runs-on: x\n\n  test:\n    runs-on: x\n\nenv: {}\n",
            "/jobs/deploy",
            json!({"needs": "test"}),
            "jobs:\n  lint:\n    runs-on: x\n\n  test:\n    runs-on: x\n\n  deploy:\n    needs: test\n\nenv: {}\n",
        ),
        (
            "replicas: 1\n\nname: \"\"\n\nresources: {}\n",
            "/tolerations",
            json!([]),
            "replicas: 1\n\nname: \"\"\n\nresources: {}\n\ntolerations: []\n",
        ),
        (
            "a: 1\nb: 2\n\nc: 3\nd: 4\n",
            "/e",
            json!(5),
            "a: 1\nb: 2\n\nc: 3\nd: 4\ne: 5\n",
        ),
    ]);
    let workflow = "name: CI\non:\n  push:\n    branches: [main]\n\njobs: {}\n";
    let edited = Editor::new(workflow)
        .unwrap()
        .insert_before("/env", "jobs", json!({"A": "b"}))
        .unwrap()
        .finish();
    assert_eq!(
        edited,
        "name: CI\non:\n  push:\n    branches: [main]\n\nenv:\n  A: b\n\njobs: {}\n"
    );
}

#[test]
fn the_strings_of_an_item_have_the_quotes_of_those_beside_it() {
    check(&[
        (
            "env:\n  - name: 'A'\n    value: 'a b'\n  - name: 'B'\n    value: 'c'\n",
            "/env/-",
            json!({"name": "C", "value": "d"}),
            "env:\n  - name: 'A'\n    value: 'a b'\n  - name: 'B'\n    value: 'c'\n  - name: 'C'\n    value: 'd'\n",
        ),
        (
            "env:\n  - name: LEVEL\n    value: \"info\"\n  - name: WORKERS\n    value: \"4\"\n",
            "/env/-",
            json!({"name": "MODE", "value": "fast"}),
            "env:\n  - name: LEVEL\n    value: \"info\"\n  - name: WORKERS\n    value: \"4\"\n  - name: MODE\n    value: \"fast\"\n",
        ),
        (
            "repos:\n- repo: 'a'\n  hooks:\n  - id: 'b'\n- repo: 'c'\n  hooks:\n  - id: 'd'\n    args: ['--e', '--f']\n",
            "/repos/-",
            json!({"repo": "g", "hooks": [{"id": "h", "args": ["--i"]}]}),
            "repos:\n- repo: 'a'\n  hooks:\n  - id: 'b'\n- repo: 'c'\n  hooks:\n  - id: 'd'\n    args: ['--e', '--f']\n- repo: 'g'\n  hooks:\n  - id: 'h'\n    args: ['--i']\n",
        ),
        // One has none, or there is but one: they stand where they are needed.
        (
            "- id: 'a'\n  at: '1'\n- id: b\n",
            "/-",
            json!({"id": "c", "at": "2"}),
            "- id: 'a'\n  at: '1'\n- id: b\n- id: c\n  at: '2'\n",
        ),
        (
            "- id: 'a'\n- id: \"b\"\n",
            "/-",
            json!({"id": "c"}),
            "- id: 'a'\n- id: \"b\"\n- id: c\n",
        ),
        (
            "services:\n  web:\n    image: \"a:1\"\n  db:\n    image: \"b:1\"\n",
            "/services/cache",
            json!({"image": "c:1"}),
            "services:\n  web:\n    image: \"a:1\"\n  db:\n    image: \"b:1\"\n  cache:\n    image: \"c:1\"\n",
        ),
        (
            "- id: 'a'\n- id: 'b'\n- id: c\n",
            "/2",
            json!({"id": "d"}),
            "- id: 'a'\n- id: 'b'\n- id: 'd'\n",
        ),
    ]);
}

#[test]
fn a_list_is_in_lines_or_brackets_as_those_of_its_key_are() {
    check(&[
        (
            "rules:\n- apiGroups: [\"\"]\n  verbs: [\"get\", \"list\"]\n- apiGroups: [\"apps\"]\n  verbs: [\"get\"]\n",
            "/rules/-",
            json!({"apiGroups": ["batch"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]}),
            "rules:\n- apiGroups: [\"\"]\n  verbs: [\"get\", \"list\"]\n- apiGroups: [\"apps\"]\n  verbs: [\"get\"]\n- apiGroups: [\"batch\"]\n  verbs: [\"get\", \"list\", \"watch\", \"create\", \"update\", \"patch\", \"delete\"]\n",
        ),
        (
            "stages: [build, test]\n\nbuild:\n  script:\n    - make\n\ntest:\n  needs: [build]\n  script:\n    - make test\n",
            "/deploy",
            json!({"needs": ["test"], "script": ["make deploy"]}),
            "stages: [build, test]\n\nbuild:\n  script:\n    - make\n\ntest:\n  needs: [build]\n  script:\n    - make test\n\ndeploy:\n  needs: [test]\n  script:\n    - make deploy\n",
        ),
    ]);
}

#[test]
fn dates_octal_numbers_and_nulls_stay_as_they_are_written() {
    check(&[
        (
            "version: 1.0.0\ndate: 2024-01-01\n",
            "/date",
            json!("2024-02-01"),
            "version: 1.0.0\ndate: 2024-02-01\n",
        ),
        (
            "date: 2024-01-01T10:00:00Z # UTC\n",
            "/date",
            json!("2024-02-01T09:30:00Z"),
            "date: 2024-02-01T09:30:00Z # UTC\n",
        ),
        (
            "- {of: 1, at: 2024-01-01}\n",
            "/0/at",
            json!("2024-02-01"),
            "- {of: 1, at: 2024-02-01}\n",
        ),
        (
            "- date: 2024-01-01\n- date: 2024-02-01\n",
            "/-",
            json!({"date": "2024-03-01"}),
            "- date: 2024-01-01\n- date: 2024-02-01\n- date: 2024-03-01\n",
        ),
        (
            "date: today\n",
            "/date",
            json!("2024-02-01"),
            "date: \"2024-02-01\"\n",
        ),
        (
            "date: 2024-01-01\n",
            "/date",
            json!("2024-02-01: no"),
            "date: \"2024-02-01: no\"\n",
        ),
        ("mode: 0644\n", "/mode", json!(0o600), "mode: 0600\n"),
        ("mode: 0o644\n", "/mode", json!(7), "mode: 0o007\n"),
        ("{mode: 0644}\n", "/mode", json!(0o4755), "{mode: 04755}\n"),
        ("mode: 0644\n", "/mode", json!("0600"), "mode: \"0600\"\n"),
        ("mode: 0644\n", "/mode", json!(-1), "mode: -1\n"),
        (
            "on:\n  push:\n    tags: [v1]\n  pull_request:\n\njobs: {}\n",
            "/on/workflow_dispatch",
            json!(null),
            "on:\n  push:\n    tags: [v1]\n  pull_request:\n  workflow_dispatch:\n\njobs: {}\n",
        ),
        ("a: ~\n", "/b", json!(null), "a: ~\nb: ~\n"),
        ("a:\nb: null\n", "/c", json!(null), "a:\nb: null\nc: null\n"),
        ("a:\nb: 1 # why\n", "/b", json!(null), "a:\nb: # why\n"),
        ("a:\nb:\n  c: 1\n", "/b", json!(null), "a:\nb:\n"),
    ]);
}

#[test]
fn a_word_changes_and_not_the_paragraph() {
    check(&[
        (
            "run: >-\n  docker run\n  --rm\n  image:1.2.3\n  --flag\nb: 1\n",
            "/run",
            json!("docker run --rm image:1.2.4 --flag"),
            "run: >-\n  docker run\n  --rm\n  image:1.2.4\n  --flag\nb: 1\n",
        ),
        // A word comes or goes: in front, in between, at the end.
        // No line is left that has blanks alone.
        (
            "d: >\n  a\n  b\n\n  c\n",
            "/d",
            json!("a b\n"),
            "d: >\n  a b\n",
        ),
        (
            "run: > # why\r\n  a b\r\n  c d\r\n",
            "/run",
            json!("x a b c d\n"),
            "run: > # why\r\n  x a b\r\n  c d\r\n",
        ),
        (
            "run: >-\n  a b\n  c d\n",
            "/run",
            json!("b c d"),
            "run: >-\n  b\n  c d\n",
        ),
        (
            "run: >-\n  a b\n  c\n  d e\n",
            "/run",
            json!("a b d e"),
            "run: >-\n  a b\n  d e\n",
        ),
        (
            "run: >-\n  a b\n  c d\n",
            "/run",
            json!("a b x c d"),
            "run: >-\n  a b\n  x c d\n",
        ),
        (
            "run: >-\n  a b\n  c d",
            "/run",
            json!("a b c d e"),
            "run: >-\n  a b\n  c d e",
        ),
        (
            "d: >\n  First line\n  goes on.\n\n  Second one\n  ends.\n",
            "/d",
            json!("First line goes on.\nSecond two ends.\n"),
            "d: >\n  First line\n  goes on.\n\n  Second two\n  ends.\n",
        ),
        (
            "m: If you use it,\n  cite it as below.\nn: 1\n",
            "/m",
            json!("If you use it, cite it as follows."),
            "m: If you use it,\n  cite it as follows.\nn: 1\n",
        ),
        (
            "[one two\n  three, four]\n",
            "/0",
            json!("one 2 three"),
            "[one 2\n  three, four]\n",
        ),
        (
            "a: 'it''s one\n  two'\n",
            "/a",
            json!("it's one two's"),
            "a: 'it''s one\n  two''s'\n",
        ),
        (
            "a: \"one \\\"two\\\"\n  three\"\n",
            "/a",
            json!("one \"two\" \\ three"),
            "a: \"one \\\"two\\\"\n  \\\\ three\"\n",
        ),
        // Where it would not read back, all of it is written anew.
        (
            "a: one\n  two\n",
            "/a",
            json!("one #2 two"),
            "a: \"one #2 two\"\n",
        ),
        (
            "a: >-\n  one\n  two\n",
            "/a",
            json!("one\ntwo"),
            "a: >-\n  one\n\n  two\n",
        ),
        (
            "a: >-\n  one\n  two\n",
            "/a",
            json!("one  two"),
            "a: >-\n  one  two\n",
        ),
    ]);
}

#[test]
fn an_empty_document_that_is_no_json_opens_into_lines() {
    check(&[
        (
            "# Default values.\n{}\n",
            "/image",
            json!({"tag": "1.2.3"}),
            "# Default values.\nimage:\n  tag: 1.2.3\n",
        ),
        ("---\n{}", "/a", json!([1]), "---\na:\n  - 1"),
        ("{}\n", "/a", json!(1), "{\"a\": 1}\n"),
    ]);
}

#[test]
fn a_document_that_is_pushed_has_the_line_ends_of_the_others() {
    for (text, expected) in [
        (
            "a: 1\r\n---\r\nb: 2\r\n",
            "a: 1\r\n---\r\nb: 2\r\n---\r\nc:\r\n  d: 2\r\n",
        ),
        ("a: 1\r\nb: 2", "a: 1\r\nb: 2\r\n---\r\nc:\r\n  d: 2\r\n"),
        ("a: 1", "a: 1\n---\nc:\n  d: 2\n"),
    ] {
        let mut stream = Stream::new(text).unwrap();
        stream.push(json!({"c": {"d": 2}})).unwrap();
        assert_eq!(visible(&stream.finish()), visible(expected));
    }
}
