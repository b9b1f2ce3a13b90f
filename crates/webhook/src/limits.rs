//! Limits for requests, since callers are not authenticated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Time for the TLS handshake.
pub const MAX_HANDSHAKE_TIME: Duration = Duration::from_secs(5);
/// Time for the head of a request, from its first byte.
pub const MAX_HEAD_TIME: Duration = Duration::from_secs(10);
/// Time for the body of a request, from the end of the head.
pub const MAX_BODY_TIME: Duration = Duration::from_secs(5);
/// Time for the client to read the answer.
pub const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);
/// Time that a client may let the server wait until its connection is no longer new, or its answer counts as unread.
pub const MAX_NEW_DELAY: Duration = Duration::from_millis(100);
/// The time between two checks of the phases of connections.
pub const TICK: Duration = Duration::from_millis(50);
/// Time between two requests. kube-apiserver keeps idle connections for 90 s; a request that it sends while the server closes the
/// connection is lost, so the server is never the first.
pub const MAX_IDLE_TIME: Duration = Duration::from_secs(180);
/// Time for a review to wait for its turn. Together with the second of `Retry-After` it leaves time for another try within the
/// API server's timeout.
pub const MAX_WAIT_TIME: Duration = Duration::from_secs(1);
/// Time for reviews in flight when the drain is over.
pub const MAX_FINISH_TIME: Duration = Duration::from_secs(10);

/// Bytes of a request's head, and of what is read of a body at once. Those of kube-apiserver have less than 1 KiB.
pub const MAX_HEAD: usize = 16 << 10;
/// Bytes of a body. The API server takes objects of 3 MiB, and a review may hold two. What comes after them is not kept.
const MAX_BODY: usize = 7 << 20;
/// Bytes that are kept of a longer body: what comes before the object, and all annotations, which have at most 256 KiB.
const MAX_BEGINNING: usize = 512 << 10;
/// Bytes of a small body. Nearly all pods have less.
const MAX_SMALL_BODY: usize = 32 << 10;
/// Items of a small body, as [`Body::items`]: to decide about one with more may take as long as to wake another thread a hundred times.
const MAX_SMALL_ITEMS: usize = 1000;
/// Bytes of a body that may take the room of all bodies.
const MAX_ORDINARY_BODY: usize = 512 << 10;
/// Bytes of all bodies in flight that are not small. Each connection has room for a small one.
const MAX_BODIES: usize = 16 << 20;
/// Bytes that bodies above [`MAX_ORDINARY_BODY`] may take: the rest is left to pods as people write them.
const MAX_LARGE_BODIES: usize = 12 << 20;
/// Bytes of an answer for which each connection has room. Nearly all answers have less.
const MAX_SMALL_ANSWER: usize = 16 << 10;
/// Bytes of all other answers that clients have not read yet.
const MAX_ANSWERS: usize = 8 << 20;
/// Bytes of TLS records that wait for a client to read them.
pub const MAX_TLS_BUFFER: usize = 16 << 10;

/// Memory for a review that is not large.
const MAX_ORDINARY_COST: usize = 8 << 20;
/// Memory for a review. One that needs more is answered without reading its object.
const MAX_COST: usize = 72 << 20;
/// Memory for each byte of a body, at most: the body itself, and texts that views and answers repeat.
const COST_OF_BYTE: usize = 8;
/// Memory for each item of a list or mapping, at most: its nodes, the view of an annotation, and a finding about it.
const COST_OF_ITEM: usize = 400;

/// Connections to each port.
const MAX_CONNECTIONS: usize = 1024;

/// Threads for ordinary reviews.
pub const ORDINARY_THREADS: usize = 7;
/// Threads for large reviews.
pub const LARGE_THREADS: usize = 1;

/// The size of a review: larger ones have threads of their own, so that they cannot take everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// The size of nearly all pods.
    Small,
    /// More than [`MAX_SMALL_BODY`] or [`MAX_SMALL_ITEMS`].
    Ordinary,
    /// Needs more memory than [`MAX_ORDINARY_COST`].
    Large,
    /// Needs more memory than [`MAX_COST`].
    TooLarge,
}

/// Bytes in memory for all clients.
#[derive(Debug, Default)]
pub struct Traffic {
    bodies: AtomicUsize,
    answers: AtomicUsize,
}

/// A body that is read or reviewed, counted until it is dropped.
#[derive(Debug)]
pub struct Body {
    bytes: Vec<u8>,
    /// Items of lists and mappings that the bytes can make.
    items: usize,
    /// More than [`MAX_BODY`] have come, and only the beginning is kept.
    is_cut: bool,
    /// Bytes counted in [`Traffic::bodies`].
    counted: usize,
    traffic: Arc<Traffic>,
}

/// An answer that the client has not read yet, counted until it is dropped.
#[derive(Debug)]
pub struct UnreadAnswer {
    bytes: Vec<u8>,
    /// Bytes counted in [`Traffic::answers`].
    counted: usize,
    traffic: Arc<Traffic>,
}

/// Bytes that cannot be taken, because too many are in flight.
#[derive(Debug, PartialEq, Eq)]
pub struct NoRoom;

impl Body {
    pub fn new(content_length: Option<usize>, traffic: &Arc<Traffic>) -> Self {
        // The caller may promise bytes and send none: memory is taken as they come.
        let bytes = Vec::with_capacity(content_length.unwrap_or_default().min(MAX_SMALL_BODY));
        Self {
            bytes,
            items: 0,
            is_cut: false,
            counted: 0,
            traffic: Arc::clone(traffic),
        }
    }

    /// Returns the size of the review, before anything of it is read.
    pub fn size(&self) -> Size {
        if self.is_cut {
            return Size::TooLarge;
        }
        if self.bytes.len() <= MAX_SMALL_BODY && self.items <= MAX_SMALL_ITEMS {
            return Size::Small;
        }
        let cost = self.bytes.len() * COST_OF_BYTE + self.items * COST_OF_ITEM;
        if cost <= MAX_ORDINARY_COST {
            Size::Ordinary
        } else if cost <= MAX_COST {
            Size::Large
        } else {
            Size::TooLarge
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns true if only the beginning of a body that is too long is kept.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Adds bytes that have come.
    pub fn extend(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let length = self.bytes.len() + bytes.len();
        if self.is_cut || length > MAX_BODY {
            self.cut();
            return Ok(());
        }
        if length > MAX_SMALL_BODY {
            let limit = if length > MAX_ORDINARY_BODY {
                MAX_LARGE_BODIES
            } else {
                MAX_BODIES
            };
            take(&self.traffic.bodies, length - self.counted, limit)?;
            self.counted = length;
        }
        self.items += bytes
            .iter()
            .filter(|byte| matches!(byte, b'{' | b'[' | b','))
            .count();
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self) {
        self.is_cut = true;
        self.bytes.truncate(MAX_BEGINNING);
        self.bytes.shrink_to_fit();
        let given_back = self.counted.saturating_sub(self.bytes.len());
        self.traffic.bodies.fetch_sub(given_back, Ordering::Relaxed);
        self.counted -= given_back;
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.traffic
            .bodies
            .fetch_sub(self.counted, Ordering::Relaxed);
    }
}

impl UnreadAnswer {
    pub fn new(bytes: Vec<u8>, traffic: &Arc<Traffic>) -> Result<Self, NoRoom> {
        let counted = if bytes.len() > MAX_SMALL_ANSWER {
            bytes.len()
        } else {
            0
        };
        take(&traffic.answers, counted, MAX_ANSWERS)?;
        Ok(Self {
            bytes,
            counted,
            traffic: Arc::clone(traffic),
        })
    }
}

impl AsRef<[u8]> for UnreadAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.traffic
            .answers
            .fetch_sub(self.counted, Ordering::Relaxed);
    }
}

/// Counts more bytes, up to a limit.
fn take(bytes: &AtomicUsize, more: usize, limit: usize) -> Result<(), NoRoom> {
    let with_more = |taken: usize| taken.checked_add(more).filter(|taken| *taken <= limit);
    bytes
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_more)
        .map(drop)
        .map_err(|_| NoRoom)
}

/// Raises the limit of open files to what the system allows, as Go's runtime does, and returns for how many connections to each of the
/// two ports it leaves room.
pub fn connections() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Beside connections: standard streams, listeners, the runtime's own, certificate and configuration while they are read.
    const OTHER_FILES: usize = 64;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it may not be raised, the limit that there is holds.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    );
    let files = getrlimit(Resource::Nofile)
        .current
        .and_then(|files| usize::try_from(files).ok())
        .unwrap_or(usize::MAX);
    (files.saturating_sub(OTHER_FILES) / 2).clamp(1, MAX_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(bytes: &[u8], traffic: &Arc<Traffic>) -> Result<Body, NoRoom> {
        let mut body = Body::new(None, traffic);
        body.extend(bytes).map(|()| body)
    }

    #[test]
    fn bytes_are_counted_until_they_are_dropped() {
        let traffic = Arc::new(Traffic::default());
        let counted = || {
            (
                traffic.bodies.load(Ordering::Relaxed),
                traffic.answers.load(Ordering::Relaxed),
            )
        };
        let small = body(&[0; MAX_SMALL_BODY], &traffic);
        assert_eq!(counted(), (0, 0));
        let mut ordinary = body(&[0; MAX_SMALL_BODY], &traffic).unwrap();
        assert_eq!(ordinary.extend(b"abc"), Ok(()));
        let answer = UnreadAnswer::new(vec![0; 20_000], &traffic);
        assert_eq!(counted(), (MAX_SMALL_BODY + 3, 20_000));
        drop((small, ordinary, answer));
        assert_eq!(counted(), (0, 0));
    }

    #[test]
    fn large_bodies_leave_room_for_ordinary_ones_and_all_for_small_ones() {
        let traffic = Arc::new(Traffic::default());
        let mebibyte = vec![0; 1 << 20];
        let mut bodies: Vec<_> = (0..12)
            .map(|_| body(&mebibyte, &traffic).unwrap())
            .collect();
        assert!(body(&mebibyte, &traffic).is_err());
        bodies.extend((0..8).map(|_| body(&[0; 512 << 10], &traffic).unwrap()));
        assert!(body(&[0; MAX_SMALL_BODY + 1], &traffic).is_err());
        assert!(body(&[0; MAX_SMALL_BODY], &traffic).is_ok());
        bodies.clear();
        assert!(body(&mebibyte, &traffic).is_ok());
    }

    #[test]
    fn the_beginning_of_a_body_that_is_too_long_is_kept() {
        let traffic = Arc::new(Traffic::default());
        let mut body = body(&vec![b' '; MAX_BODY], &traffic).unwrap();
        assert!(!body.is_cut());
        for _ in 0..3 {
            assert_eq!(body.extend(&[b' '; 1 << 20]), Ok(()));
            assert_eq!(
                (body.is_cut(), body.size(), body.bytes().len()),
                (true, Size::TooLarge, MAX_BEGINNING)
            );
            assert_eq!(traffic.bodies.load(Ordering::Relaxed), MAX_BEGINNING);
        }
        drop(body);
        assert_eq!(traffic.bodies.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn large_answers_leave_room_for_small_ones() {
        let traffic = Arc::new(Traffic::default());
        let unread = UnreadAnswer::new(vec![0; MAX_ANSWERS], &traffic).unwrap();
        assert!(UnreadAnswer::new(vec![0; MAX_SMALL_ANSWER + 1], &traffic).is_err());
        assert!(UnreadAnswer::new(vec![0; MAX_SMALL_ANSWER], &traffic).is_ok());
        drop(unread);
        assert!(UnreadAnswer::new(vec![0; MAX_SMALL_ANSWER + 1], &traffic).is_ok());
    }

    #[test]
    fn a_review_is_as_large_as_the_items_that_its_bytes_can_make() {
        let sizes = [
            ("x".repeat(32 << 10), Size::Small),
            ("{".repeat(1000), Size::Small),
            ("{".repeat(1001), Size::Ordinary),
            ("{".repeat(32 << 10), Size::Large),
            ("x".repeat(33 << 10), Size::Ordinary),
            ("[".repeat(33 << 10), Size::Large),
            ("x".repeat(7 << 20), Size::Large),
            ("{},".repeat(1 << 20), Size::TooLarge),
        ];
        for (text, size) in sizes {
            let body = body(text.as_bytes(), &Arc::default()).unwrap();
            assert_eq!(body.size(), size, "{} bytes", text.len());
        }
    }
}
