//! Wall time and processor time: on a busy machine only the second can be compared.

use std::time::{Duration, Instant};

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// The processes whose work counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    /// This process.
    Us,
    /// The children that have ended.
    Children,
}

/// Runs it, and says how long it took.
pub(crate) fn timed<T>(of: Of, run: impl FnOnce() -> T) -> (T, Taken) {
    let (cpu, started) = (worked(of), Instant::now());
    let given = run();
    let (wall, now) = (started.elapsed(), worked(of));
    let cpu = cpu
        .zip(now)
        .map_or(wall, |(before, after)| after.saturating_sub(before));
    (given, Taken { wall, cpu })
}

#[cfg(unix)]
fn worked(of: Of) -> Option<Duration> {
    use nix::sys::resource::{UsageWho, getrusage};
    let who = match of {
        Of::Us => UsageWho::RUSAGE_SELF,
        Of::Children => UsageWho::RUSAGE_CHILDREN,
    };
    let usage = getrusage(who).ok()?;
    let total = usage.user_time() + usage.system_time();
    let seconds = u64::try_from(total.tv_sec()).ok()?;
    let micros = u64::try_from(total.tv_usec()).ok()?;
    Some(Duration::from_secs(seconds) + Duration::from_micros(micros))
}

#[cfg(not(unix))]
fn worked(_: Of) -> Option<Duration> {
    None
}
