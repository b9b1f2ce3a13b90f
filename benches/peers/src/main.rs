//! The same edits by three editors of YAML: what they give, judged by readers that are none of them, and the time.

mod corpus;
mod edit;
mod editors;
mod judge;

use edit::{Edit, edits, wanted_by_people};
use editors::{EDITORS, Editor, Refusal};
use judge::Verdict;
use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Documents that are edited.
const DOCUMENTS: usize = 1_000;

/// Rounds over all edits; each editor's fastest one counts, so that what else runs on the machine matters less.
const ROUNDS: usize = 5;

/// The results of one editor.
#[derive(Default)]
struct Score {
    verdicts: BTreeMap<Verdict, usize>,
    /// The first edit of each failure, by message.
    examples: BTreeMap<String, (usize, String)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    // An editor that panics counts as such, without a page for each.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(cases) = std::env::var_os("EDITOR_CASES") {
        let cases = wanted_by_people(cases.as_ref())?;
        println!(
            "Cases with a text that a person would have written: {}\n",
            cases.len()
        );
        for editor in &EDITORS {
            let is_as_wanted = |edit: &&Edit| matches!(result(editor, edit), Ok(Ok(text)) if Some(&text) == edit.wanted.as_ref());
            let (same, others): (Vec<_>, Vec<_>) = cases.iter().partition(is_as_wanted);
            let others: Vec<&str> = others.iter().map(|edit| &*edit.name).collect();
            println!("{}: {}; not {}", editor.name, same.len(), others.join(", "));
        }
    }
    let edits = edits(DOCUMENTS)?;
    println!("\n{} edits of {DOCUMENTS} documents\n", edits.len());
    print!("| |");
    for verdict in Verdict::ALL {
        print!(" {} |", verdict.title());
    }
    println!(" time of an edit | times ours |");
    println!("| --- |{}", " --: |".repeat(Verdict::ALL.len() + 2));
    let times = least_times(&edits);
    let mut details = String::new();
    for (editor, time) in EDITORS.iter().zip(times) {
        let score = score(editor, &edits);
        print!("| {} |", editor.name);
        for verdict in Verdict::ALL {
            print!(
                " {} |",
                score.verdicts.get(&verdict).copied().unwrap_or_default()
            );
        }
        println!(
            " {:.0} µs | {:.1} |",
            time.as_secs_f64() * 1e6,
            time.as_secs_f64() / times[0].as_secs_f64()
        );
        for (what, (count, example)) in score.examples {
            details.push_str(&format!(
                "{}: {count} times {what} ({example})\n",
                editor.name
            ));
        }
    }
    println!("\n{details}");
    Ok(())
}

type Outcome = std::thread::Result<Result<String, Refusal>>;

fn result(editor: &Editor, edit: &Edit) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| (editor.apply)(edit)))
}

fn score(editor: &Editor, edits: &[Edit]) -> Score {
    let mut score = Score::default();
    for edit in edits {
        let (verdict, what) = match result(editor, edit) {
            Err(_) => (Verdict::Panic, "a panic".to_owned()),
            Ok(Err(Refusal::HasNoSuchEdit)) => (Verdict::HasNoSuchEdit, String::new()),
            Ok(Err(Refusal::Error(error))) => (Verdict::Refused, format!("refused: {error}")),
            Ok(Ok(text)) => judge::verdict(edit, &text),
        };
        *score.verdicts.entry(verdict).or_default() += 1;
        if !what.is_empty() {
            let what: String = what
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(90)
                .collect();
            let example = format!("{} {}", edit.name, edit.patch);
            score.examples.entry(what).or_insert((0, example)).0 += 1;
        }
    }
    score
}

/// The least wall time of an edit by each editor, on average over those that it has. In each round they take turns.
fn least_times(edits: &[Edit]) -> [Duration; EDITORS.len()] {
    let mut least = [Duration::MAX; EDITORS.len()];
    for _ in 0..ROUNDS {
        for (editor, least) in EDITORS.iter().zip(&mut least) {
            let start = Instant::now();
            let mut done = 0;
            for edit in edits {
                let outcome = std::hint::black_box(result(editor, edit));
                done += u32::from(!matches!(outcome, Ok(Err(Refusal::HasNoSuchEdit))));
            }
            *least = (start.elapsed() / done.max(1)).min(*least);
        }
    }
    least
}
