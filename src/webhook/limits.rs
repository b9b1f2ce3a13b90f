//! Limits for requests, since callers are not authenticated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Time for the TLS handshake.
pub(crate) const MAX_HANDSHAKE_TIME: Duration = Duration::from_secs(5);
/// Time for the head of a request, from its first byte.
pub(crate) const MAX_HEAD_TIME: Duration = Duration::from_secs(10);
/// Time for the body of a request, from the end of the head.
pub(crate) const MAX_BODY_TIME: Duration = Duration::from_secs(5);
/// Time for the client to read the answer.
pub(crate) const MAX_ANSWER_TIME: Duration = Duration::from_secs(10);
/// Time between two requests. kube-apiserver keeps idle connections for 90 s; a request that it sends while the server closes the
/// connection is lost, so the server is never the first.
pub(crate) const MAX_IDLE_TIME: Duration = Duration::from_secs(180);
/// Time for a review on another thread to wait for its turn. Together with the second of `Retry-After` it leaves time for another try within the
/// API server's timeout.
pub(crate) const MAX_WAIT_TIME: Duration = Duration::from_secs(1);
/// Time for reviews in flight when the drain is over.
pub(crate) const MAX_FINISH_TIME: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
pub(crate) const MAX_HEAD: usize = 64 << 10;
/// Bytes of a body. The API server takes objects of 3 MiB, and a review may hold two.
pub(crate) const MAX_BODY: usize = 7 << 20;
/// Bytes of a body whose review is decided on the connections' thread: it takes less time than another thread takes to wake up.
const MAX_SMALL_BODY: usize = 32 << 10;
/// Bytes of a body whose review is not large. Large reviews run one at a time, since each takes many times its bytes.
pub(crate) const MAX_ORDINARY_BODY: usize = 512 << 10;
/// Bytes of all bodies in flight.
const MAX_BODIES: usize = 16 << 20;
/// Bytes of all large bodies in flight: the rest is left to pods as people write them.
const MAX_LARGE_BODIES: usize = 12 << 20;

/// Connections to the port with the hooks.
pub(crate) const MAX_CONNECTIONS: usize = 1024;
/// Connections to the plain port.
pub(crate) const MAX_PLAIN_CONNECTIONS: usize = 64;

/// Ordinary reviews in the engine at once.
pub(crate) const MAX_ORDINARY_REVIEWS: usize = 7;
/// Large reviews in the engine at once.
pub(crate) const MAX_LARGE_REVIEWS: usize = 1;

/// The bytes of all bodies in flight.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    bytes: AtomicUsize,
}

/// A body that is read or reviewed, counted among the bodies in flight until it is dropped.
#[derive(Debug)]
pub(crate) struct Body {
    bytes: Vec<u8>,
    size: Size,
    bodies: Arc<Bodies>,
}

/// Three classes of reviews, so that larger ones cannot take everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// The size of nearly all pods.
    Small,
    /// More than [`MAX_SMALL_BODY`].
    Ordinary,
    /// More than [`MAX_ORDINARY_BODY`], or a body whose head does not tell the length.
    Large,
}

/// Bytes that cannot be taken, because too many are in flight.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Size {
    pub(crate) fn of(content_length: Option<usize>) -> Self {
        match content_length {
            Some(..=MAX_SMALL_BODY) => Size::Small,
            Some(..=MAX_ORDINARY_BODY) => Size::Ordinary,
            _ => Size::Large,
        }
    }
}

impl Body {
    pub(crate) fn new(content_length: Option<usize>, bodies: &Arc<Bodies>) -> Self {
        // The caller may promise bytes and send none: memory is taken as they come.
        let bytes = Vec::with_capacity(content_length.unwrap_or_default().min(MAX_HEAD));
        Self { bytes, size: Size::of(content_length), bodies: Arc::clone(bodies) }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds bytes that have come.
    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<(), NoRoom> {
        let limit = match self.size {
            Size::Small | Size::Ordinary => MAX_BODIES,
            Size::Large => MAX_LARGE_BODIES,
        };
        let more = |taken: usize| taken.checked_add(bytes.len()).filter(|taken| *taken <= limit);
        let taken = self.bodies.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map_err(|_| NoRoom)?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.bodies.bytes.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// Raises the limit of open files to what the system allows, as Go's runtime does, and returns how many connections it leaves
/// room for.
pub(crate) fn connections() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Beside connections: standard streams, listeners, the runtime's own, certificate and configuration while they are read.
    const OTHER_FILES: usize = 64;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it may not be raised, the limit that there is holds.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    files.saturating_sub(OTHER_FILES + MAX_PLAIN_CONNECTIONS).clamp(1, MAX_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_counted_until_it_is_dropped() {
        let bodies = Arc::new(Bodies::default());
        let mut body = Body::new(Some(3), &bodies);
        assert_eq!(body.extend(b"abc"), Ok(()));
        assert_eq!((body.bytes(), body.size()), (&b"abc"[..], Size::Small));
        assert_eq!(bodies.bytes.load(Ordering::Relaxed), 3);
        drop(body);
        assert_eq!(bodies.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn large_bodies_leave_room_for_ordinary_ones() {
        let bodies = Arc::new(Bodies::default());
        let mebibyte = vec![0; 1 << 20];
        let mut large: Vec<_> = (0..12).map(|_| Body::new(Some(mebibyte.len()), &bodies)).collect();
        assert!(large.iter_mut().all(|body| body.extend(&mebibyte).is_ok()));
        assert_eq!(Body::new(None, &bodies).extend(b"1"), Err(NoRoom));
        assert_eq!(Body::new(Some(1), &bodies).extend(b"1"), Ok(()));
        large.pop();
        assert_eq!(Body::new(None, &bodies).extend(b"1"), Ok(()));
    }
}
