//! The inputs of istio's own injection tests: what another injector's authors thought of.

use config::Config;
use laws::independent_reader;
use report::Reason;
use support::corpus;

/// Inputs that are no manifests: istio's options.
fn is_option(name: &str) -> bool {
    name.ends_with(".iop.yaml") || name.contains("/templates/") || name.contains(".injected")
}

#[test]
fn istio_inputs_are_injected_within_the_laws() {
    let Some(suite) = corpus::suite("istio-inject", "istio") else {
        return;
    };
    let mut wrong = Vec::new();
    let (mut inputs, mut injected) = (0, 0);
    for (name, bytes) in
        corpus::Files::below(&suite).filter(|(name, _)| name.ends_with(".yaml") && !is_option(name))
    {
        let text = String::from_utf8(bytes).unwrap();
        let lawful = match laws::check(&text, &Config::default(), laws::INJECT) {
            Ok(lawful) => lawful,
            Err(what) => {
                wrong.push(format!("{name}: {what}"));
                continue;
            }
        };
        inputs += 1;
        let expected = independent_reader::documents(&text)
            .into_iter()
            .filter_map(independent_reader::read)
            .flat_map(|value| independent_reader::templates(&value))
            .count();
        let outcomes = &lawful.injection.outcomes;
        let others = outcomes
            .iter()
            .filter(|outcome| outcome.decision.reason != Reason::Injected);
        wrong.extend(others.map(|outcome| {
            format!(
                "{name}: {}: {}",
                outcome.identity.name, outcome.decision.message
            )
        }));
        if outcomes.len() != expected || !lawful.injection.findings.is_empty() {
            wrong.push(format!(
                "{name}: {} of {expected} templates seen, {:?}",
                outcomes.len(),
                lawful.injection.findings
            ));
        }
        injected += outcomes.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((inputs, injected), (100, 101));
}
