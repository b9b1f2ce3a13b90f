//! `cargo bench --bench growth`: one table of instructions, for n, 2n and 4n of each shape. An exponent of 1 is work in proportion to n.
//!
//! `cargo bench --bench growth -- WORD` for the shapes whose names have the word. `--profile dev` spares the optimised build, and
//! shows the same exponents.

#![allow(clippy::print_stdout, reason = "it prints a table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark stops where it cannot go on"
)]

mod shapes;

use shapes::SHAPES;
use std::env::{args, current_exe};
use std::process::Command;

/// With a shape's name and a number: the work itself, for callgrind.
const RUN: &str = "--run";

/// As [`RUN`], but the input is only made.
const MAKE: &str = "--make";

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [step @ (RUN | MAKE), name, n] => {
            let shape = SHAPES
                .iter()
                .find(|shape| shape.name == *name)
                .expect("a shape");
            let run = shape.run(n.parse().expect("a number"));
            if *step == RUN {
                run();
            }
        }
        words => {
            println!("| shape | n | instructions for n | 2n | 4n | exponent |");
            println!("| --- | ---: | ---: | ---: | ---: | ---: |");
            for shape in SHAPES
                .iter()
                .filter(|shape| words.iter().all(|word| shape.name.contains(word)))
            {
                let [one, two, four] = [1, 2, 4].map(|times| {
                    let n = shape.least * times;
                    instructions(RUN, shape.name, n)
                        .saturating_sub(instructions(MAKE, shape.name, n))
                        as f64
                        / 1e6
                });
                let exponent = (four / one).log2() / 2.0;
                println!(
                    "| {} | {} | {one:.2} M | {two:.2} M | {four:.2} M | {exponent:.2} |",
                    shape.name, shape.least
                );
            }
        }
    }
}

/// Runs this program under callgrind.
fn instructions(step: &str, name: &str, n: usize) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(current_exe().expect("this program"));
    let output = valgrind.args([step, name, &n.to_string()]).output();
    let output = output
        .unwrap_or_else(|error| panic!("valgrind counts the instructions; install it: {error}"));
    let report = String::from_utf8_lossy(&output.stderr);
    let count = report
        .lines()
        .find_map(|line| line.split_once("Collected : ")?.1.parse().ok());
    count.unwrap_or_else(|| panic!("valgrind did not count the instructions of {name}:\n{report}"))
}
