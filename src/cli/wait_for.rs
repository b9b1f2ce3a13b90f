//! `wait-for`, the command of the init container: connects to hosts until each accepts TCP, or the time is over.

use crate::cli::input::io_message;
use crate::cli::messages::Messages;
use crate::cli::{Exit, stdout};
use injector::Endpoint;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Time between two reports of the hosts that do not accept connections yet.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Timeout of one attempt, after which a host that does not answer is tried again.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);

/// One attempt to connect to a host.
struct Attempt {
    /// Index of the host.
    host: usize,
    result: io::Result<()>,
}

/// Waits for all hosts at the same time. Prints a line for each that accepts connections, every few seconds one for each that does not
/// yet, at the end how long it took, and an error for each that did not.
pub fn wait(
    endpoints: &[Endpoint],
    timeout: Duration,
    interval: Duration,
    messages: &mut Messages,
) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let (sender, attempts) = mpsc::channel();
    for (host, endpoint) in endpoints.iter().enumerate() {
        let (endpoint, sender) = (endpoint.clone(), sender.clone());
        // The threads are not joined: the lookup of a name may take longer than the timeout.
        thread::Builder::new()
            .spawn(move || connect_until_open(host, &endpoint, interval, &sender))?;
    }
    let mut pending: Vec<Option<String>> = vec![Some("no answer".to_owned()); endpoints.len()];
    let mut next_report = REPORT_INTERVAL;
    while pending.iter().any(Option::is_some) {
        let end = timeout.min(next_report);
        let Attempt { host, result } = match attempts.recv_timeout(end - start.elapsed().min(end)) {
            Ok(attempt) => attempt,
            Err(RecvTimeoutError::Timeout) if next_report < timeout => {
                print(waiting(endpoints, &pending));
                next_report += REPORT_INTERVAL;
                continue;
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        };
        let (Some(error), Some(endpoint)) = (pending.get_mut(host), endpoints.get(host)) else {
            continue;
        };
        match result {
            Ok(()) => {
                *error = None;
                print(format!("{endpoint} accepts connections\n"));
            }
            Err(reason) => *error = Some(io_message(&reason)),
        }
    }
    let mut exit = Exit::Done;
    for (host, (endpoint, error)) in endpoints.iter().zip(pending).enumerate() {
        let Some(error) = error else { continue };
        messages.error(format!(
            "{endpoint} did not accept connections within {timeout:?}: {error}"
        ));
        if exit == Exit::Done {
            exit = Exit::Closed { host };
        }
    }
    if exit == Exit::Done {
        let seconds = start.elapsed().as_secs();
        print(format!("all hosts accept connections, after {seconds}s\n"));
    }
    messages.show(None);
    Ok(exit)
}

/// Prints lines. Those that cannot be printed do not end the wait.
fn print(lines: String) {
    let _ = stdout::write([&*lines]);
}

/// Returns a line for each host that does not accept connections yet.
fn waiting(endpoints: &[Endpoint], pending: &[Option<String>]) -> String {
    let mut lines = String::new();
    for (endpoint, error) in endpoints.iter().zip(pending) {
        if let Some(error) = error {
            lines += &format!("waiting for {endpoint}: {error}\n");
        }
    }
    lines
}

/// Tries to connect, and sends each attempt, until one succeeds or the receiver is closed.
fn connect_until_open(
    host: usize,
    endpoint: &Endpoint,
    interval: Duration,
    attempts: &Sender<Attempt>,
) {
    loop {
        let result = connect(endpoint);
        let is_open = result.is_ok();
        if attempts.send(Attempt { host, result }).is_err() || is_open {
            return;
        }
        thread::sleep(interval);
    }
}

/// Tries once to connect to each address of the host. Returns the error of the last one.
fn connect(endpoint: &Endpoint) -> io::Result<()> {
    let addresses = (endpoint.host.as_str(), endpoint.port).to_socket_addrs()?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, ATTEMPT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Parses a duration such as `15s`, `500ms`, `2m` or `1h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => Some(Duration::from_millis(1)),
        "s" => Some(Duration::from_secs(1)),
        "m" => Some(Duration::from_secs(60)),
        "h" => Some(Duration::from_secs(3600)),
        _ => None,
    };
    if let (Some(unit), Ok(number)) = (unit, number.parse())
        && let Some(duration) = unit.checked_mul(number)
        && !duration.is_zero()
    {
        return Ok(duration);
    }
    Err("use for example `15s`, `500ms` or `2m`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Duration, duration};

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
    }
}
