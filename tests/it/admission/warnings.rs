//! The answers' warnings: their number, length and words.

use super::answers::{annotated, deployment, pod};
use crate::admission::{answer, patched, review};
use admission::Hook;
use config::Config;
use laws::of_spec;
use mackerel::annotations::Annotation;
use serde_json::{Value, json};

#[test]
fn a_refusal_is_a_warning_or_rejects_the_pod() {
    let review = review(&pod(annotated("inject", "maybe"), json!({})));
    let (_, response) = answer(Hook::Mutate, &review, &of_spec("onError: skip"));
    assert_eq!(
        (response["allowed"].as_bool(), response.get("patch")),
        (Some(true), None)
    );
    let warning = response["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("invalid-annotation: "), "{warning}");

    let (_, response) = answer(Hook::Mutate, &review, &of_spec("onError: fail"));
    assert_eq!(
        (
            response["allowed"].as_bool(),
            response["status"]["code"].as_u64()
        ),
        (Some(false), Some(422))
    );
    assert!(
        response["status"]["message"]
            .as_str()
            .unwrap()
            .starts_with("invalid-annotation: "),
        "{response}"
    );
}

#[test]
fn a_warning_is_short_and_plain_enough_for_the_api_server() {
    for value in ["ä\n".repeat(300), "\t\r\u{1b}[31m\u{7f}\u{85}".to_owned()] {
        let review = review(&pod(annotated("inject", &value), json!({})));
        let (_, response) = answer(Hook::Mutate, &review, &of_spec("onError: skip"));
        let warning = response["warnings"][0].as_str().unwrap();
        assert!(
            warning.len() <= 256 && !warning.contains(char::is_control),
            "{warning:?}"
        );
    }
}

/// A Deployment whose template has an annotation that is refused, and so many that are unknown.
fn with_unknown(count: usize, length: usize) -> Value {
    let name = |at| {
        (
            format!(
                "agent-injector.contrib.mackerel.io/{}{at}",
                "x".repeat(length)
            ),
            json!("1"),
        )
    };
    let mut annotations: serde_json::Map<String, Value> = (0..count).map(name).collect();
    annotations.insert(
        "agent-injector.contrib.mackerel.io/inject".to_owned(),
        "maybe".into(),
    );
    deployment(json!({}), json!({"annotations": annotations}), json!({}))
}

#[test]
fn sixteen_findings_are_shown_refusals_first_and_the_others_are_counted() {
    let warnings = |object: &Value, spec: &str| {
        let (answer, response) = answer(Hook::Warn, &review(object), &of_spec(spec));
        assert_eq!(
            (answer.decision, &response["allowed"]),
            ("invalid-annotation", &json!(true))
        );
        let warnings = response["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|warning| warning.as_str().unwrap().to_owned());
        let warnings: Vec<String> = warnings.collect();
        assert!(
            warnings[0].starts_with("invalid-annotation: "),
            "{warnings:?}"
        );
        // The API server takes no more.
        assert!(warnings.iter().all(|warning| warning.len() <= 256));
        assert!(warnings.iter().map(String::len).sum::<usize>() <= 4096);
        warnings
    };
    for (unknown, shown, last) in [
        (15, 16, None),
        (16, 17, Some("and 1 more finding")),
        // The last one counts the keys without a warning of their own.
        (22, 17, Some("and 1 more finding")),
    ] {
        let seen = warnings(&with_unknown(unknown, 0), "onError: fail");
        assert_eq!(seen.len(), shown);
        assert!(last.is_none_or(|last| seen[16] == last), "{seen:?}");
    }
    // What has been acknowledged does not count.
    assert_eq!(
        warnings(
            &with_unknown(22, 0),
            "warnings: {ignore: [unknown-annotation]}"
        )
        .len(),
        1
    );
    // Long ones leave no room for all.
    let long = warnings(&with_unknown(22, 200), "onError: fail");
    assert_eq!(long.last().unwrap(), "and 1 more finding");
}

#[test]
fn whoever_applies_a_workload_is_warned() {
    let skip = of_spec("onError: skip");
    let warnings = |object: &Value| {
        let (answer, response) = answer(Hook::Warn, &review(object), &skip);
        assert_eq!(
            (response["allowed"].as_bool(), response.get("patch")),
            (Some(true), None),
            "{}",
            answer.message
        );
        let warnings = response["warnings"].as_array().cloned().unwrap_or_default();
        warnings
            .iter()
            .map(|warning| {
                warning
                    .as_str()
                    .unwrap()
                    .split(':')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    let none = json!({});
    assert_eq!(
        warnings(&deployment(none.clone(), none.clone(), none.clone())),
        Vec::<String>::new()
    );
    let misplaced = deployment(annotated("inject", "true"), none.clone(), none.clone());
    assert_eq!(warnings(&misplaced), ["misplaced-annotation"]);
    let labelled = deployment(none.clone(), labelled(), none.clone());
    assert_eq!(warnings(&labelled), ["misplaced-annotation"]);
    let unknown = deployment(none.clone(), annotated("role", "shop:web"), none.clone());
    assert_eq!(warnings(&unknown), ["unknown-annotation"]);
    let mistyped = deployment(none.clone(), annotated("injct", "false"), none.clone());
    assert_eq!(warnings(&mistyped), ["invalid-annotation"]);
    let invalid = deployment(none.clone(), annotated("inject", "maybe"), none);
    assert_eq!(warnings(&invalid), ["invalid-annotation"]);
}

/// Metadata with an opt-out as a label.
fn labelled() -> Value {
    json!({"labels": {"agent-injector.contrib.mackerel.io/inject": "false"}})
}

#[test]
fn a_pod_that_opts_out_by_label_is_injected_and_the_user_is_told() {
    let review = review(&pod(labelled(), json!({})));
    let (injected, response) = answer(Hook::Mutate, &review, &Config::default());
    assert_eq!(injected.decision, "injected");
    let expected = "misplaced-annotation: label `agent-injector.contrib.mackerel.io/inject` has no effect on Pod; move it to \
                    metadata.annotations";
    assert_eq!(response["warnings"], json!([expected]));
    let ignored = of_spec("warnings: {ignore: [misplaced-annotation]}");
    let (_, response) = answer(Hook::Mutate, &review, &ignored);
    assert_eq!(response.get("warnings"), None);
}

#[test]
fn an_annotation_that_is_not_allowed_has_no_effect_and_the_user_is_told() {
    const IMAGE: &str = "example.com/mine:1";
    let of = |spec: &str| of_spec(&format!("{{annotations: {{allow: []}}, {spec}}}"));
    let told = |response: &Value| -> Vec<String> {
        let warnings = response["warnings"].as_array().into_iter().flatten();
        warnings
            .map(|warning| warning.as_str().unwrap().to_owned())
            .collect()
    };
    let expected = "annotation-not-allowed: `agent-injector.contrib.mackerel.io/image` has no effect: `annotations.allow` in the \
                    configuration does not list `image`; remove it, or allow it in the configuration";
    let asks = pod(annotated("image", IMAGE), json!({}));
    for on_error in ["onError: fail", "onError: skip"] {
        let (answer, response) = answer(Hook::Mutate, &review(&asks), &of(on_error));
        assert_eq!(
            (answer.decision, response["allowed"].as_bool()),
            ("injected", Some(true))
        );
        assert_eq!(told(&response), [expected]);
        let after = patched(&asks, &response).to_string();
        assert_eq!(
            after.matches(IMAGE).count(),
            1,
            "the annotation itself: {after}"
        );
    }
    for (spec, object, decision, warnings) in [
        ("injection: annotated", asks.clone(), "not-requested", 1),
        (
            "onError: skip",
            pod(annotated("log-level", "7"), json!({})),
            "injected",
            1,
        ),
        (
            "warnings: {ignore: [annotation-not-allowed]}",
            asks.clone(),
            "injected",
            0,
        ),
        (
            "select: {namespaces: [team]}",
            asks.clone(),
            "not-selected",
            0,
        ),
    ] {
        let (answer, response) = answer(Hook::Mutate, &review(&object), &of(spec));
        assert_eq!(
            (answer.decision, told(&response).len()),
            (decision, warnings),
            "{spec}: {response}"
        );
    }
    // Beside the refusal of the pod.
    let mut metadata = annotated("image", IMAGE);
    metadata["annotations"]["agent-injector.contrib.mackerel.io/inject"] = "maybe".into();
    let response = answer(
        Hook::Mutate,
        &review(&pod(metadata, json!({}))),
        &of("onError: skip"),
    )
    .1;
    assert_eq!(told(&response).len(), 2, "{response}");

    for workload in [
        deployment(json!({}), annotated("image", IMAGE), json!({})),
        deployment(annotated("image", IMAGE), json!({}), json!({})),
    ] {
        let (_, response) = answer(Hook::Warn, &review(&workload), &of("onError: skip"));
        assert_eq!(told(&response), [expected]);
        let ignored = of("warnings: {ignore: [annotation-not-allowed]}");
        assert_eq!(
            told(&answer(Hook::Warn, &review(&workload), &ignored).1),
            Vec::<String>::new()
        );
    }
    let waits = deployment(json!({}), annotated("wait-for", "db:5432"), json!({}));
    let (_, response) = answer(
        Hook::WaitFor,
        &review(&waits),
        &of("waitFor: {image: wait:1}"),
    );
    assert_eq!(response.get("patch"), None);
}

#[test]
fn the_longest_warning_of_an_annotation_that_is_not_allowed_is_not_cut() {
    let config = of_spec("annotations: {allow: []}");
    for annotation in Annotation::ALL
        .iter()
        .filter(|annotation| config::Setting::path_of(**annotation).is_some())
    {
        let pod = pod(json!({"annotations": {annotation.key(): "x"}}), json!({}));
        let (_, response) = answer(Hook::Mutate, &review(&pod), &config);
        let warning = response["warnings"][0].as_str().unwrap();
        assert!(
            warning.ends_with("allow it in the configuration"),
            "{warning}"
        );
    }
}

#[test]
fn a_value_of_more_than_4_kib_is_refused_without_being_read() {
    let long = "x".repeat(4097);
    for (metadata, hook) in [
        (json!({"inject": long}), Hook::Mutate),
        (json!({"ignore-container": long}), Hook::Mutate),
        (json!({"ignore-warnings": long}), Hook::Mutate),
        (json!({"inject": "false", "wait-for": long}), Hook::Mutate),
        (json!({"roles": long}), Hook::Warn),
    ] {
        let annotations: serde_json::Map<String, Value> = metadata
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| {
                (
                    format!("agent-injector.contrib.mackerel.io/{name}"),
                    value.clone(),
                )
            })
            .collect();
        let (answer, _) = answer(
            hook,
            &review(&pod(json!({"annotations": annotations}), json!({}))),
            &Config::default(),
        );
        assert_eq!(answer.decision, "invalid-annotation", "{metadata:.60}");
        assert!(
            answer.message.contains("has a value of 4097 bytes"),
            "{:.200}",
            answer.message
        );
    }
}
