//! `wait-for`: what the init container runs. It knocks at every host until each accepts TCP, or time is up.

use crate::agent::endpoint::Endpoint;
use crate::cli::input::io_message;
use crate::cli::messages::Messages;
use crate::cli::{Exit, stdout};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

/// The longest that one try may take, so that a host that answers nothing is tried again.
const LONGEST_TRY: Duration = Duration::from_secs(3);

/// Result of one try.
struct Try {
    /// Index of the host.
    number: usize,
    result: io::Result<()>,
}

/// Waits for all of them, at once. A line for each that accepts; an error for each that does not.
pub(crate) fn wait(
    endpoints: &[Endpoint],
    timeout: Duration,
    interval: Duration,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let (tries, results) = mpsc::channel();
    for (number, endpoint) in endpoints.iter().enumerate() {
        let (endpoint, tries) = (endpoint.clone(), tries.clone());
        // Not joined: looking up a name can take longer than there is time.
        thread::Builder::new()
            .spawn(move || knock_until_open(number, &endpoint, interval, &tries))?;
    }
    let mut pending: Vec<Option<String>> = vec![Some("no answer".to_owned()); endpoints.len()];
    while pending.iter().any(Option::is_some) {
        let rest = timeout.saturating_sub(start.elapsed());
        let Try { number, result } = match results.recv_timeout(rest) {
            Ok(tried) => tried,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        };
        let (Some(error), Some(endpoint)) = (pending.get_mut(number), endpoints.get(number)) else {
            continue;
        };
        match result {
            Ok(()) => {
                *error = None;
                // A message that cannot be printed does not end the wait.
                let _ = stdout::write([&*format!("{endpoint} accepts connections\n")]);
            }
            Err(reason) => *error = Some(io_message(&reason)),
        }
    }
    let mut failed = None;
    for (number, (endpoint, error)) in endpoints.iter().zip(pending).enumerate() {
        if let Some(error) = error {
            messages.error(format!(
                "{endpoint} did not accept connections within {}: {error}",
                shown(timeout)
            ))?;
            failed = failed.or(Some(number));
        }
    }
    messages.show(None);
    Ok(failed.map_or(Exit::Done, |number| Exit::Closed { number }))
}

/// Tries, and reports each try, until one succeeds or the receiver is gone.
fn knock_until_open(number: usize, endpoint: &Endpoint, interval: Duration, tries: &Sender<Try>) {
    loop {
        let result = knock(endpoint);
        let is_open = result.is_ok();
        if tries.send(Try { number, result }).is_err() || is_open {
            return;
        }
        thread::sleep(interval);
    }
}

/// One try, at each address that the name has.
fn knock(endpoint: &Endpoint) -> io::Result<()> {
    let addresses = (endpoint.host.as_str(), endpoint.port).to_socket_addrs()?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, LONGEST_TRY) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// `15s`, `500ms`, `2m`, `1h`
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let of_unit = match unit {
        "ms" => Some(Duration::from_millis(1)),
        "s" => Some(Duration::from_secs(1)),
        "m" => Some(Duration::from_secs(60)),
        "h" => Some(Duration::from_secs(3600)),
        _ => None,
    };
    let whole = number
        .parse()
        .ok()
        .zip(of_unit)
        .and_then(|(number, unit)| unit.checked_mul(number));
    whole
        .filter(|whole| !whole.is_zero())
        .ok_or_else(|| "use for example `15s`, `500ms` or `2m`".to_owned())
}

/// Writes a duration as [`duration`] reads it.
fn shown(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1000) {
        format!("{}s", millis / 1000)
    } else {
        format!("{millis}ms")
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, duration, shown};

    #[test]
    fn durations_have_a_unit() {
        for (text, millis) in [
            ("15s", 15_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "15",
            "s",
            "0s",
            "-1s",
            "1.5s",
            "1m30s",
            "4294967296s",
            "１s",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(
            [15_000, 1_500].map(|millis| shown(Duration::from_millis(millis))),
            ["15s", "1500ms"]
        );
    }
}
