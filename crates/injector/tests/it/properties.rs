//! The laws over generated manifests and configurations. `PROPTEST_CASES` says over how many.

use crate::uninject_after_reprint;
use config::Config;
use injector::ForeignAgents;
use laws::generators::{self, Tape};
use proptest::prelude::{Strategy, any, prop};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config as Runs, TestCaseError, TestRunner};
use report::{Class, Reason};
use std::cell::Cell;

/// Long enough for two documents; what is beyond its end is plain.
fn tape() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..600)
}

fn run<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let runs = Runs {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Runs::default()
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        runs.cases
    } else {
        cases
    };
    TestRunner::new(Runs { cases, ..runs })
        .run(strategy, test)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

fn broken(what: &str, text: &str) -> TestCaseError {
    TestCaseError::fail(format!(
        "{what}\n--- the manifest\n{text}\n--- the same, with escapes\n{text:?}"
    ))
}

#[test]
fn generated_manifests_obey_the_laws_under_generated_configurations() {
    run(
        3000,
        &(tape(), tape(), tape()),
        |(manifest, first, second)| {
            let text = generators::stream(&mut Tape::new(&manifest));
            let [(one, first), (two, second)] =
                [first, second].map(|tape| generators::configuration(&mut Tape::new(&tape)));
            let converges = |lawful| {
                let one = laws::Made { by: &one, lawful };
                laws::converges(&text, &one, &laws::made(&text, &two)?)
            };
            laws::check(&text, &one, laws::INJECT)
                .and_then(converges)
                .map_err(|what| {
                    broken(
                        &format!("{what}\n--- first\n{first}\n--- second\n{second}"),
                        &text,
                    )
                })
        },
    );
}

#[test]
fn agents_of_others_are_adopted_within_the_laws() {
    let adopted = Cell::new(0);
    let mut adopt = laws::INJECT;
    adopt.foreign_agents = ForeignAgents::AdoptLossy;
    run(1500, &(tape(), tape()), |(manifest, config)| {
        let text = generators::stream(&mut Tape::new(&manifest));
        let (config, said) = generators::configuration(&mut Tape::new(&config));
        let lawful = laws::check(&text, &config, adopt)
            .map_err(|what| broken(&format!("{what}\n--- configuration\n{said}"), &text))?;
        let outcomes = lawful.injection.outcomes.iter();
        adopted.set(
            adopted.get()
                + outcomes
                    .filter(|outcome| outcome.decision.reason == Reason::Adopted)
                    .count(),
        );
        Ok(())
    });
    assert!(adopted.get() > 20, "{}", adopted.get());
}

#[test]
fn generated_manifests_survive_other_tools_in_between() {
    run(1000, &(tape(), tape()), |(manifest, config)| {
        let text = generators::stream(&mut Tape::new(&manifest));
        let (config, said) = generators::configuration(&mut Tape::new(&config));
        uninject_after_reprint::comes_back(&text, &config)
            .map(|_| ())
            .map_err(|what| broken(&format!("{what}\n--- configuration\n{said}"), &text))
    });
}

/// The laws are empty where nothing is injected: most of what is generated must be.
#[test]
fn generated_manifests_are_mostly_injected() {
    let mut runner = TestRunner::deterministic();
    let config = Config::default();
    let (mut injected, mut refused, mut unreadable) = (0, 0, 0);
    for _ in 0..500 {
        let manifest = tape().new_tree(&mut runner).unwrap().current();
        let text = generators::stream(&mut Tape::new(&manifest));
        let lawful = laws::check(&text, &config, laws::INJECT)
            .unwrap_or_else(|what| panic!("{what}\n{text}"));
        let count = |is: &dyn Fn(Reason) -> bool| {
            lawful
                .injection
                .outcomes
                .iter()
                .filter(|outcome| is(outcome.decision.reason))
                .count()
        };
        injected += count(&|reason| reason == Reason::Injected);
        let asked_badly = [Reason::InvalidAnnotation, Reason::WaitForImage];
        refused +=
            count(&|reason| reason.class() == Class::Refused && !asked_badly.contains(&reason));
        if let Some(finding) = lawful.injection.findings.first() {
            unreadable += 1;
            assert!(
                unreadable < 5,
                "the generator writes what is no YAML: {finding:?}\n{text}"
            );
        }
    }
    assert!(
        injected > 200 && refused * 20 < injected,
        "injected {injected}, refused {refused}"
    );
}
