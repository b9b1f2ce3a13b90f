//! Any body of a review: no panic, an answer that the API server can read, and a patch that applies to the object.

use admission::{Hook, Reviewer};
use config::Config;
use json_patch::Patch;
use serde_json::Value;
use std::sync::Arc;

pub(crate) fn hold(text: &str) {
    let reviewer = Reviewer::new(Arc::new(Config::default()));
    for hook in Hook::ALL {
        let _ = reviewer.too_large(hook, text.as_bytes());
        let Ok(answer) = reviewer.answer(hook, text.as_bytes()) else {
            continue;
        };
        assert!(!answer.is_fault, "{}", answer.message);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let warnings = body["response"]["warnings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        assert!(
            warnings
                .clone()
                .all(|warning| warning.len() <= 256 && !warning.contains('\n'))
        );
        assert!(warnings.map(str::len).sum::<usize>() <= 4096);
        let Some(patch) = body["response"]["patch"].as_str() else {
            continue;
        };
        let patch = serde_json::from_value::<k8s_openapi::ByteString>(patch.into())
            .unwrap()
            .0;
        let patch: Patch = serde_json::from_slice(&patch).unwrap();
        let mut object = serde_json::from_str::<Value>(text).unwrap()["request"]["object"].take();
        json_patch::patch(&mut object, &patch).unwrap();
    }
}
