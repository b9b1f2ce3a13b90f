//! Work on several threads, its results in the order of the input.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, Builder};

/// Works on each batch, and takes the results in the order of the batches. The first worker works on the caller's thread, each
/// other one on a thread of its own. A worker that panics makes the caller panic.
pub(super) fn in_order<W: Send, B, R: Send>(
    first: &mut W,
    others: Vec<W>,
    batches: impl Iterator<Item = B> + Send,
    work: impl Fn(&mut W, B) -> R + Sync,
    mut take: impl FnMut(R),
) {
    let batches = Mutex::new(batches.enumerate());
    let next = || {
        batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next()
    };
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for mut worker in others {
            let (sender, next, work) = (sender.clone(), &next, &work);
            let run = move || {
                while let Some((index, batch)) = next() {
                    let result = work(&mut worker, batch);
                    if sender.send((index, result)).is_err() {
                        break;
                    }
                }
            };
            // Where the system allows no further thread, the others do the work.
            let _ = Builder::new().spawn_scoped(scope, run);
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut taken = 0;
        while let Some((index, batch)) = next() {
            early.insert(index, work(first, batch));
            early.extend(results.try_iter());
            while let Some(result) = early.remove(&taken) {
                take(result);
                taken += 1;
            }
        }
        early.extend(results);
        for result in early.into_values() {
            take(result);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn results_come_in_the_order_of_the_batches() {
        for others in [0, 1, 6] {
            let mut sums = Vec::new();
            in_order(
                &mut 0,
                vec![0; others],
                1..100,
                |worked, batch| {
                    *worked += 1;
                    batch
                },
                |result| sums.push(result),
            );
            assert_eq!(sums, (1..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_of_any_worker_is_one_of_the_caller() {
        for others in [0, 1, 6] {
            let run = || {
                let work = |(): &mut (), batch| assert_ne!(batch, 50);
                in_order(&mut (), vec![(); others], 0..100, work, |()| {});
            };
            assert!(std::panic::catch_unwind(run).is_err());
        }
    }
}
