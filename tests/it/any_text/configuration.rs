//! Any configuration, `--set` arguments and annotations: no panic, every complaint can be shown, and what was read means the
//! same when it is set again by `--set`. The input's parts are divided by NUL: the file's text, then one `path=value` each.

use config::annotations::{self, Given};
use config::{Config, Sources, load};
use mackerel::annotations::PREFIX;
use report::Diagnostic;

pub(crate) fn hold(text: &str) {
    let mut parts = text.split('\0');
    let file = parts.next().unwrap_or_default();
    let set: Vec<String> = parts.map(str::to_owned).collect();
    annotate(&set);
    // An empty file is an error, and would hide what the arguments do.
    let base = if file.is_empty() {
        Sources::default()
    } else {
        Sources::of_text("config.yaml", file)
    };
    match load(&base.with_set(&set)) {
        Ok(config) => set_again(&config),
        Err(diagnostics) => show(&diagnostics),
    }
}

fn show(diagnostics: &[Diagnostic<'_>]) {
    assert!((1..=21).contains(&diagnostics.len()));
    for diagnostic in diagnostics {
        let place = diagnostic.place.as_ref();
        assert!(place.is_none_or(
            |place| place.range.start <= place.range.end && place.range.end <= place.text.len()
        ));
        let picture = diagnostic.to_string();
        assert!(
            picture
                .chars()
                .all(|character| character == '\n' || !character.is_control()),
            "{picture:?}"
        );
        assert!(!diagnostic.line().contains('\n'));
    }
}

/// Sets every setting of a configuration again, as text.
fn set_again(config: &Config) {
    let text = |path: &str| match config.value(path) {
        None | Some(serde_json::Value::Null) => {
            // Only Kubernetes' own types read `null` as no value; for other settings the empty text is no value.
            let is_kubernetes =
                path.starts_with("agent.resources") || path.starts_with("agent.securityContext");
            (if is_kubernetes { "null" } else { "" }).to_owned()
        }
        Some(serde_json::Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let set: Vec<String> = config
        .explicit()
        .map(|(path, _)| format!("{path}={}", text(path)))
        .collect();
    match load(&Sources::default().with_set(&set)) {
        Ok(again) => {
            let values = |config: &Config| -> Vec<_> {
                config
                    .settings()
                    .into_iter()
                    .map(|(path, value, _)| (path, value))
                    .collect()
            };
            assert_eq!(values(&again), values(config), "{set:?}");
        }
        Err(diagnostics) => panic!("{set:?}: {diagnostics:?}"),
    }
}

/// Arguments taken for annotations, by name.
fn annotate(set: &[String]) {
    let keys: Vec<(String, &str)> = set
        .iter()
        .filter_map(|argument| argument.split_once('='))
        .map(|(name, value)| (format!("{PREFIX}{name}"), value))
        .collect();
    let given: Vec<Given<'_>> = keys
        .iter()
        .map(|(key, value)| (key.as_str(), *value, 0))
        .collect();
    let _ = annotations::request(&given);
    let _ = annotations::overlay(&Config::default(), &given);
    for (key, ..) in &given {
        let _ = annotations::is_unknown(key);
        let _ = annotations::meant(key);
    }
}
