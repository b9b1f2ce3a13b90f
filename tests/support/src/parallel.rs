//! Work on several threads.

/// The number of threads: with few, the API server has the machine's cores to itself while the tests wait.
pub const THREADS: usize = 4;

/// Does that for each, several at a time; the results are in the order of the items.
pub fn for_each<I: Sync, R: Send>(items: &[I], what: impl Fn(&I) -> R + Sync) -> Vec<R> {
    let part = |thread: usize| -> Vec<R> {
        items
            .iter()
            .skip(thread)
            .step_by(THREADS)
            .map(&what)
            .collect()
    };
    let mut parts: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || part(thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap().into_iter())
            .collect()
    });
    (0..items.len())
        .filter_map(|index| parts[index % THREADS].next())
        .collect()
}
