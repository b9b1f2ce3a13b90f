//! Objects that YAML refuses, that are too deep or too large, and bodies that are no JSON: a pod is refused only if it may be wanted.

use crate::admission::answers::{annotated, containers, deployment, pod};
use crate::admission::{answer, patched, review};
use admission::{Hook, Reviewer};
use config::Config;
use laws::of_spec;
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters that JSON may hold as they are, and YAML may not.
const ODD: &str = "\u{7f}\u{80}\u{92}\u{9f}\u{2028}\u{feff}\u{fffe}\u{ffff}";

fn odd() -> Value {
    json!({"annotations": {"note": ODD, "k".repeat(2_000): "1"}})
}

#[test]
fn characters_that_yaml_refuses_harm_nothing() {
    let fail = Config::default();
    let mut opted_out = pod(odd(), json!({}));
    opted_out["metadata"]["annotations"]["agent-injector.contrib.mackerel.io/inject"] =
        "false".into();
    let (decided, response) = answer(Hook::Mutate, &review(&opted_out), &fail);
    assert_eq!(
        (
            decided.decision,
            &response["allowed"],
            response.get("warnings")
        ),
        ("opted-out", &json!(true), None)
    );

    let asks = pod(odd(), json!({}));
    let (decided, response) = answer(Hook::Mutate, &review(&asks), &fail);
    assert_eq!(decided.decision, "injected", "{response}");
    let patched = patched(&asks, &response);
    assert_eq!(containers(&patched), ["web", "mackerel-container-agent"]);
    assert_eq!(patched["metadata"]["annotations"]["note"], ODD);

    let workload = deployment(odd(), odd(), json!({}));
    let (decided, response) = answer(Hook::Warn, &review(&workload), &fail);
    assert_eq!(
        (&response["allowed"], response.get("warnings")),
        (&json!(true), None),
        "{}",
        decided.message
    );
}

#[test]
fn what_is_too_deep_is_refused_only_where_it_may_be_wanted() {
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    for (spec, metadata, decision, allowed) in [
        ("onError: skip", json!({}), "uneditable", true),
        ("onError: fail", json!({}), "uneditable", false),
        (
            "{select: {excludeNamespaces: [sh*]}}",
            json!({}),
            "namespace-excluded",
            true,
        ),
        (
            "{select: {exclude: [{namespace: shop}]}}",
            json!({}),
            "not-selected",
            true,
        ),
        (
            "{select: {namespaces: [lab]}}",
            json!({}),
            "not-selected",
            true,
        ),
        (
            "{select: {namespaces: [shop]}}",
            json!({}),
            "uneditable",
            false,
        ),
        (
            "injection: disabled",
            annotated("inject", "true"),
            "disabled",
            true,
        ),
        ("injection: annotated", json!({}), "not-requested", true),
        (
            "injection: annotated",
            annotated("inject", "true"),
            "uneditable",
            false,
        ),
    ] {
        let object = pod(metadata, json!({"deep": deep}));
        let config = of_spec(spec);
        let review = review(&object);
        let (read, response) = answer(Hook::Mutate, &review, &config);
        assert_eq!(
            (read.decision, response["allowed"].as_bool()),
            (decision, Some(allowed)),
            "{spec}: {response}"
        );
        let warns = response["warnings"].as_array().is_some();
        assert_eq!(
            warns,
            allowed && decision == "uneditable",
            "{spec}: {response}"
        );

        // The same where the server does not read the object, because it is too large.
        let body = review.to_string();
        let end = body.find("volumeMounts").unwrap();
        for beginning in [&body, &body[..end]] {
            let large = Reviewer::new(Arc::new(config.clone()))
                .too_large(Hook::Mutate, beginning.as_bytes())
                .unwrap();
            let response: Value =
                serde_json::from_slice::<Value>(&large.body).unwrap()["response"].take();
            assert_eq!(
                (large.decision, response["allowed"].as_bool()),
                (decision, Some(allowed)),
                "{spec}"
            );
            assert_eq!(response["uid"], review["request"]["uid"]);
        }
    }
}

#[test]
fn workloads_are_allowed_whatever_is_wrong_with_them() {
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let asks = annotated("wait-for", "db:5432");
    let config = of_spec("{onError: fail, waitFor: {image: wait:1}}");
    let wrong = deployment(json!({}), asks.clone(), json!({"initContainers": "none"}));
    for object in [deployment(json!({}), asks, json!({"deep": deep})), wrong] {
        for hook in [Hook::Warn, Hook::WaitFor] {
            let (_, response) = answer(hook, &review(&object), &config);
            assert_eq!(
                (&response["allowed"], response.get("patch")),
                (&json!(true), None),
                "{hook:?} {response}"
            );
            let large = Reviewer::new(Arc::new(config.clone()));
            let large = large
                .too_large(hook, review(&object).to_string().as_bytes())
                .unwrap();
            assert!(
                String::from_utf8(large.body)
                    .unwrap()
                    .contains("\"allowed\":true")
            );
        }
    }
}

#[test]
fn an_operation_without_interest_is_none_however_large_the_object() {
    let mut review = review(&pod(json!({}), json!({})));
    review["request"]["operation"] = "UPDATE".into();
    let reviewer = Reviewer::new(Arc::new(Config::default()));
    assert_eq!(
        reviewer
            .too_large(Hook::Mutate, review.to_string().as_bytes())
            .unwrap()
            .decision,
        "not-selected"
    );
    assert!(
        reviewer
            .too_large(Hook::Mutate, b"{\"request\":{\"uid\":\"7\",\"object\":{")
            .is_err()
    );
}

#[test]
fn an_object_that_is_no_json_makes_the_review_malformed() {
    let reviewer = Reviewer::new(Arc::new(Config::default()));
    let body = |note: &[u8]| {
        let review = review(&pod(json!({"annotations": {"note": "NOTE"}}), json!({}))).to_string();
        let (before, behind) = review.split_once("\"NOTE\"").unwrap();
        [before.as_bytes(), note, behind.as_bytes()].concat()
    };
    assert!(reviewer.answer(Hook::Mutate, &body(b"\"\"")).is_ok());
    for note in [
        &b"\"\x01\""[..],
        b"\"\xff\"",
        b"\"\\x41\"",
        b"\"\\ud8\"",
        b"'a'",
        b"01",
        b"1.",
        b"tru",
        b"{]",
        b"\"a\" \"b\"",
        b"1,",
    ] {
        for hook in Hook::ALL {
            assert!(
                reviewer.answer(hook, &body(note)).is_err(),
                "{}",
                note.escape_ascii()
            );
        }
    }
}
