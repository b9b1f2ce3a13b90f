//! One open connection: its phase, the time that a phase may take, and the class in which it closes for a new one.

use crate::limits::{
    MAX_ANSWER_TIME, MAX_HANDSHAKE_TIME, MAX_HEAD_TIME, MAX_IDLE_TIME, MAX_NEW_DELAY, TICK,
};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Progress of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Until TLS is set up.
    Handshake,
    /// No byte of the next request has come.
    Idle,
    /// A part of a request's head has come.
    Head,
    /// The head has come.
    Body,
    /// The body has come; the review waits for its turn.
    Waiting,
    /// The review runs.
    Review,
    /// The client has not read the whole answer yet.
    Answer,
}

impl Phase {
    /// The longest that it may take. A body has its limit where it is read, a review where it waits.
    fn limit(self) -> Option<Duration> {
        match self {
            Phase::Handshake => Some(MAX_HANDSHAKE_TIME),
            Phase::Idle => Some(MAX_IDLE_TIME),
            Phase::Head => Some(MAX_HEAD_TIME),
            Phase::Body | Phase::Waiting | Phase::Review => None,
            Phase::Answer => Some(MAX_ANSWER_TIME),
        }
    }
}

/// The bytes that have come since the last answer left.
#[derive(Debug, Clone, Copy)]
enum Received {
    /// A part of the head.
    Head { is_line_empty: bool },
    /// The head, and as many bytes behind it.
    Behind(u64),
}

impl Received {
    const NOTHING: Self = Received::Head {
        is_line_empty: false,
    };

    /// Adds bytes. An empty line ends the head, also one without a carriage return, as hyper reads it.
    fn add(&mut self, bytes: &[u8]) {
        let mut behind = bytes;
        while let Received::Head { is_line_empty } = self {
            let Some((byte, rest)) = behind.split_first() else {
                return;
            };
            behind = rest;
            match byte {
                b'\n' if *is_line_empty => *self = Received::Behind(0),
                b'\n' => *is_line_empty = true,
                b'\r' => {}
                _ => *is_line_empty = false,
            }
        }
        if let Received::Behind(count) = self {
            *count += behind.len() as u64;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct ConnectionState {
    phase: Phase,
    since: Instant,
    /// Time in which the server waited for the client's part of this request, or for it to read the answer.
    delay: Duration,
    received: Received,
    /// Bytes of the request's body; none if only their end shows how many they are.
    length: Option<u64>,
    /// A request has been answered.
    has_served: bool,
    /// It closes after its next answer, for a new connection.
    is_evicted: bool,
}

impl ConnectionState {
    /// Returns true if the answer is the last: the connection closes for another, or more than one request has come, or may have.
    fn is_last_answer(&self) -> bool {
        match self.received {
            _ if self.is_evicted => true,
            Received::Head { .. } => false,
            Received::Behind(count) => self.length.is_none_or(|length| count > length),
        }
    }

    fn waits_for_client(&self) -> bool {
        match self.phase {
            Phase::Idle => !self.has_served,
            Phase::Handshake | Phase::Head | Phase::Body | Phase::Answer => true,
            Phase::Waiting | Phase::Review => false,
        }
    }

    /// Returns its class; none if the connection must not close.
    fn eviction(&self) -> Option<Eviction> {
        match self.phase {
            _ if self.is_evicted => None,
            Phase::Review => None,
            Phase::Waiting => Some(Eviction::Waiting),
            Phase::Idle if self.has_served => Some(Eviction::Idle),
            // Its bytes may have come, and the server has not had the time to read them.
            _ if self.delay.is_zero() => None,
            _ if self.delay <= MAX_NEW_DELAY => Some(Eviction::New),
            Phase::Answer => Some(Eviction::Unread),
            _ if self.has_served => Some(Eviction::Incomplete),
            _ => Some(Eviction::Silent),
        }
    }
}

/// The order in which connections close for new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Eviction {
    /// The client does not read its answer.
    Unread,
    /// No whole request has come.
    Silent,
    /// kube-apiserver may be about to use it.
    Idle,
    /// A part of a further request has come.
    Incomplete,
    /// The review is answered with 429, after which the API server tries again.
    Waiting,
    /// The client has hardly let the server wait.
    New,
}

/// A connection that may close for a new one.
pub struct Candidate<'c> {
    pub eviction: Eviction,
    pub delay: Duration,
    pub since: Instant,
    pub connection: &'c Arc<Connection>,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    pub peer: IpAddr,
    state: Mutex<ConnectionState>,
    close: Notify,
    evict: Notify,
}

impl Connection {
    pub fn new(phase: Phase, peer: IpAddr) -> Self {
        let state = ConnectionState {
            phase,
            since: Instant::now(),
            delay: Duration::ZERO,
            received: Received::NOTHING,
            length: None,
            has_served: false,
            is_evicted: false,
        };
        Self {
            peer,
            state: Mutex::new(state),
            close: Notify::new(),
            evict: Notify::new(),
        }
    }

    pub fn enter(&self, phase: Phase) {
        let mut state = lock(&self.state);
        (state.phase, state.since) = (phase, Instant::now());
    }

    /// Notes the head of a request whose body has this length. Returns false if the answer before it has not left: then it has no answer.
    pub fn begin(&self, length: Option<u64>) -> bool {
        let mut state = lock(&self.state);
        if state.phase == Phase::Answer {
            return false;
        }
        (state.phase, state.since, state.length) = (Phase::Body, Instant::now(), length);
        true
    }

    /// Notes that the answer is ready. Returns true if it is the last one of the connection.
    pub fn answer(&self) -> bool {
        let mut state = lock(&self.state);
        (state.phase, state.since, state.delay) = (Phase::Answer, Instant::now(), Duration::ZERO);
        state.is_last_answer()
    }

    /// Notes that bytes have come: in an idle connection, those of a head.
    pub fn received(&self, bytes: &[u8]) {
        let mut state = lock(&self.state);
        state.received.add(bytes);
        if state.phase == Phase::Idle {
            (state.phase, state.since) = (Phase::Head, Instant::now());
        }
    }

    /// Notes that everything written so far has left: the answer, if there was one.
    pub fn flushed(&self) {
        let mut state = lock(&self.state);
        if state.phase != Phase::Answer {
            return;
        }
        if state.is_last_answer() {
            self.close.notify_one();
        }
        *state = ConnectionState {
            phase: Phase::Idle,
            since: Instant::now(),
            delay: Duration::ZERO,
            received: Received::NOTHING,
            has_served: true,
            ..*state
        };
    }

    /// Returns false if a request has come since the connection was idle, and was chosen to close: it has an answer before.
    pub fn must_close(&self) -> bool {
        let state = lock(&self.state);
        let is_left = matches!(state.phase, Phase::Idle | Phase::Answer);
        is_left || !state.is_evicted || !state.delay.is_zero()
    }

    /// Returns when the connection must close.
    pub async fn closed(&self) {
        self.close.notified().await;
    }

    /// Returns when the review must wait no longer.
    pub async fn evicted(&self) {
        self.evict.notified().await;
    }

    pub fn is_evicted(&self) -> bool {
        lock(&self.state).is_evicted
    }

    pub fn candidate(self: &Arc<Self>) -> Option<Candidate<'_>> {
        let state = lock(&self.state);
        Some(Candidate {
            eviction: state.eviction()?,
            delay: state.delay,
            since: state.since,
            connection: self,
        })
    }

    pub fn evict(&self, eviction: Eviction) {
        lock(&self.state).is_evicted = true;
        match eviction {
            Eviction::Waiting => self.evict.notify_one(),
            _ => self.close.notify_one(),
        }
    }

    /// Counts a tick, and closes the connection if its phase takes too long.
    pub fn tick(&self) {
        let mut state = lock(&self.state);
        if state.waits_for_client() {
            state.delay += TICK;
        }
        let limit = state.phase.limit();
        let is_over = limit.is_some_and(|limit| state.since.elapsed() > limit);
        if is_over || (state.is_evicted && !state.delay.is_zero()) {
            self.close.notify_one();
        }
    }
}

/// Locks a mutex, also after a panic: the data of this module is consistent after every statement.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn idle() -> Connection {
        Connection::new(Phase::Idle, IpAddr::V4(std::net::Ipv4Addr::LOCALHOST))
    }

    pub fn is_closing(connection: &Connection) -> bool {
        let close = std::pin::pin!(connection.closed());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        close.poll(&mut context).is_ready()
    }

    pub const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";

    /// Returns true if the answer was the last.
    pub fn serve(connection: &Connection, bytes: &[u8]) -> bool {
        connection.received(bytes);
        assert!(connection.begin(Some(2)));
        let is_last = connection.answer();
        connection.flushed();
        is_last
    }

    #[test]
    fn a_request_before_the_answer_has_left_ends_the_connection() {
        let [head, rest] = [&REQUEST[..20], &REQUEST[20..]];
        let twice = [REQUEST, REQUEST].concat();
        let with_line_feeds = String::from_utf8_lossy(REQUEST).replace('\r', "");
        for (bytes, is_last) in [
            (REQUEST, false),
            (&*twice, true),
            (&twice[..=REQUEST.len()], true),
            (with_line_feeds.as_bytes(), false),
            ((with_line_feeds.clone() + "P").as_bytes(), true),
        ] {
            let one = idle();
            assert_eq!(serve(&one, bytes), is_last);
            assert_eq!(is_closing(&one), is_last);
        }
        let one = idle();
        one.received(head);
        assert!(!serve(&one, rest), "a head in two parts");
        assert!(!serve(&one, REQUEST), "a second request");
        one.received(REQUEST);
        assert!(one.begin(Some(2)) && !one.answer());
        one.received(b"P");
        assert!(!one.begin(Some(2)) && !is_closing(&one));
        one.flushed();
        assert!(is_closing(&one), "once the answer has left");
        let chunked = idle();
        chunked.received(REQUEST);
        assert!(chunked.begin(None) && chunked.answer());
    }

    #[test]
    fn the_time_of_a_head_counts_from_its_first_byte() {
        let one = idle();
        let state = || *lock(&one.state);
        one.received(b"P");
        assert_eq!(state().phase, Phase::Head);
        let since = state().since;
        one.received(b"O");
        assert_eq!(state().since, since);
        let let_pass = |phase: Phase, limit: Duration| {
            let long_ago = Instant::now().checked_sub(limit + Duration::from_secs(1));
            let mut state = lock(&one.state);
            (state.phase, state.since) = (phase, long_ago.unwrap());
            drop(state);
            one.tick();
            is_closing(&one)
        };
        assert!(let_pass(Phase::Head, MAX_HEAD_TIME));
        // As long, but between two requests.
        assert!(!let_pass(Phase::Idle, MAX_HEAD_TIME));
        assert!(let_pass(Phase::Idle, MAX_IDLE_TIME));
    }
}
