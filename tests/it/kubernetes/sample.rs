//! A thousand pod templates of the corpus, of every kind, without the agent and with it.
//!
//! `UPDATE_CENSUS=1 cargo test kubernetes` writes the census anew: `tests/census-kubernetes.txt`.

use super::cluster::cluster;
use super::injected::{InjectedPair, pairs};
use super::judge::{Census, Judge};
use config::Config;
use injector::inject;
use laws::cases;
use laws::{INJECT, of_spec};
use report::Reason;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use support::corpus::{self, Files};
use support::parallel::for_each;
use support::root;
use yaml_json_patch::documents;

const TEMPLATES: usize = 1000;

/// A resource of the corpus that is injected under the default configuration.
#[derive(Debug)]
struct SampleCandidate {
    kind: String,
    file: String,
    document: String,
    /// Its index among the injected resources of its document.
    index: usize,
}

impl SampleCandidate {
    fn pair(&self, config: &Config) -> Option<InjectedPair> {
        pairs(&self.document, config, INJECT)
            .into_iter()
            .nth(self.index)
    }
}

/// Every candidate, no document twice, so that the beginning of them holds as much of each kind as there is, and of many
/// repositories.
fn candidates(files: Files) -> Vec<SampleCandidate> {
    let mut seen = BTreeSet::new();
    let mut by_kind: BTreeMap<String, BTreeMap<u64, SampleCandidate>> = BTreeMap::new();
    for (file, bytes) in files {
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        for document in documents(&text) {
            let document = &text[document.span];
            let outcomes = inject(document, &Config::default(), INJECT).outcomes;
            let injected = outcomes
                .iter()
                .filter(|outcome| outcome.decision.reason == Reason::Injected);
            let offsets: BTreeMap<usize, String> = injected
                .map(|outcome| (outcome.offset, outcome.identity.kind.clone()))
                .collect();
            if offsets.is_empty() || !seen.insert(hash(document)) {
                continue;
            }
            for (index, (offset, kind)) in offsets.into_iter().enumerate() {
                let place = hash(&format!("{file} {offset} {document}"));
                let candidate = SampleCandidate {
                    kind,
                    file: file.clone(),
                    document: document.to_owned(),
                    index,
                };
                by_kind
                    .entry(candidate.kind.clone())
                    .or_default()
                    .insert(place, candidate);
            }
        }
    }
    let mut kinds: Vec<_> = by_kind.into_values().map(BTreeMap::into_values).collect();
    let mut candidates = Vec::new();
    loop {
        let before = candidates.len();
        candidates.extend(kinds.iter_mut().filter_map(Iterator::next));
        if candidates.len() == before {
            return candidates;
        }
    }
}

/// The FNV-1a hash, which is the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The sample under a configuration, which may be another one for each of its resources.
fn judged(
    judge: &Judge,
    sample: &[SampleCandidate],
    config: impl Fn(usize) -> (String, Config) + Sync,
) -> Census {
    let numbered: Vec<(usize, &SampleCandidate)> = sample.iter().enumerate().collect();
    let judged = for_each(&numbered, |(number, candidate)| {
        let (name, config) = config(*number);
        let pair = candidate.pair(&config)?;
        Some(judge.judge(&format!("{} ({name})", candidate.file), &config, &pair))
    });
    judged.into_iter().flatten().collect()
}

#[test]
fn kubernetes_accepts_a_sample_of_the_corpus() {
    let Some(files) = corpus::manifests("kubernetes_accepts_a_sample_of_the_corpus") else {
        return;
    };
    let Some(cluster) = cluster() else { return };
    let judge = Judge::new(cluster);
    let mut candidates = candidates(files);

    // Some at a time, until there are enough: most were valid before.
    let (mut sample, mut auto, mut valid, mut refused) = (Vec::new(), Vec::new(), 0, 0);
    while valid < TEMPLATES && !candidates.is_empty() {
        let some: Vec<SampleCandidate> = candidates
            .drain(..candidates.len().min(TEMPLATES - valid))
            .collect();
        let census = for_each(&some, |candidate| {
            let config = Config::default();
            judge.judge(
                &format!("{} (auto)", candidate.file),
                &config,
                &candidate.pair(&config).unwrap(),
            )
        });
        for (candidate, census) in some.into_iter().zip(census) {
            if census.valid() == 0 {
                refused += 1;
            } else {
                valid += census.valid();
                auto.push(census);
                sample.push(candidate);
            }
        }
    }
    let auto: Census = auto.into_iter().collect();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    sample
        .iter()
        .for_each(|candidate| *kinds.entry(&candidate.kind).or_default() += 1);
    let mut seen = String::new();
    write!(
        seen,
        "resources in the sample: {}\nresources that Kubernetes refuses before: {refused}\n",
        sample.len()
    )
    .unwrap();
    kinds
        .iter()
        .for_each(|(kind, count)| writeln!(seen, "  {kind}: {count}").unwrap());

    let of_kind = |kind: &str| {
        let config = of_spec(&format!("sidecar: {kind}"));
        judged(&judge, &sample, |_| (kind.to_owned(), config.clone()))
    };
    let (container, native) = (of_kind("container"), of_kind("native"));
    for (sidecar, census) in [
        ("auto", &auto),
        ("container", &container),
        ("native", &native),
    ] {
        write!(seen, "\n## sidecar: {sidecar}\n{census}").unwrap();
    }
    // The configurations of the cases in turn. They become more, so what they give is not counted.
    let cases = cases::all();
    let configured = judged(&judge, &sample, |number| {
        let case = &cases[number % cases.len()];
        (case.name.clone(), case.config.clone())
    });
    let by_a_case = configured.valid();
    let all: Census = [auto, container, native, configured].into_iter().collect();
    all.nothing_is_wrong();
    assert!(
        by_a_case * 2 > TEMPLATES,
        "the configurations of the cases inject only {by_a_case} templates"
    );
    compare(&seen);
}

/// Compares the census with `tests/census-kubernetes.txt`.
fn compare(seen: &str) {
    let path = root().join("tests/census-kubernetes.txt");
    if std::env::var_os("UPDATE_CENSUS").is_some() {
        std::fs::write(&path, seen).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let diff = similar::TextDiff::from_lines(expected.as_str(), seen)
        .unified_diff()
        .context_radius(2)
        .to_string();
    assert!(diff.is_empty(), "the census changed:\n{diff}");
}
