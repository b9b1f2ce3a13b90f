//! The work for what can be multiplied grows as its input and output do: four times as much of it may take eight times as long,
//! since processor time is not exact, and never sixteen times.

#[path = "../../benches/growth/shapes.rs"]
pub(crate) mod shapes;

use shapes::{SHAPES, Shape};
use std::time::{Duration, Instant};

/// A time that is long enough to be compared.
const LEAST: Duration = Duration::from_millis(20);

/// The ratio of the time for 4n to the time for n.
const MOST: f64 = 8.0;

#[test]
fn four_times_as_much_takes_less_than_eight_times_as_long() {
    // Other tests take caches and memory meanwhile: what grows too fast does so again.
    let grown: Vec<String> = SHAPES
        .iter()
        .filter(|shape| fault(shape).is_some())
        .filter_map(fault)
        .collect();
    assert!(
        grown.is_empty(),
        "these grow faster than their input:\n{}",
        grown.join("\n")
    );
}

#[allow(clippy::print_stdout, reason = "`--nocapture` shows all shapes")]
fn fault(shape: &Shape) -> Option<String> {
    let least = |run: &shapes::Run| (0..3).map(|_| timed(run)).min().unwrap_or_default();
    let mut n = shape.least;
    let one = loop {
        let run = shape.run(n);
        // The first run also takes the memory, which the others find.
        if timed(&run) >= LEAST {
            let time = least(&run);
            if time >= LEAST {
                break time;
            }
        }
        // Whatever is so quick that a million of it take less than that has no growth to speak of.
        if n >= 1_000_000 {
            return None;
        }
        n *= 2;
    };
    let run = shape.run(4 * n);
    let ratio = |four: Duration| four.as_secs_f64() / one.as_secs_f64();
    let mut four = timed(&run);
    if ratio(four) > MOST {
        four = least(&run);
    }
    let ratio = ratio(four);
    let line = format!(
        "{}: {n} in {one:.1?}, 4 times as many in {four:.1?}: {ratio:.1}",
        shape.name
    );
    println!("{line}");
    (ratio > MOST).then_some(line)
}

/// The time that this thread works: other tests run beside it.
fn timed(run: &shapes::Run) -> Duration {
    let (before, started) = (thread_time(), Instant::now());
    run();
    let wall = started.elapsed();
    thread_time()
        .zip(before)
        .map_or(wall, |(after, before)| after - before)
}

#[cfg(unix)]
fn thread_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    // A clock that stands still is none.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .ok()
        .map(Duration::from)
        .filter(|time| !time.is_zero())
}

#[cfg(not(unix))]
fn thread_time() -> Option<Duration> {
    None
}
