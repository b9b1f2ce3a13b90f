//! Decisions about reviews: ordinary ones at once, large ones one after the other on a thread of their own. A panic ends one
//! review, not the server.

use crate::admission::{self, Answer, Hook, Malformed, Reviewer, Subject};
use crate::config::Config;
use crate::webhook::limits::{Body, MAX_LARGE_REVIEWS, MAX_WAIT_TIME, Size};
use crate::webhook::log;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Stack of the threads for large reviews, as much as the main thread has: documents may be nested deeply.
pub(crate) const STACK: usize = 8 << 20;
/// Reviews after which a thread forgets what it shares between them, so that memory stays bounded.
const MAX_SHARED_REVIEWS: usize = 1000;

/// Decides about one review. Tests give one that panics.
pub(crate) type Decide = fn(&Reviewer, Hook, &[u8]) -> Result<Answer, Malformed>;

/// The configuration that reviews are decided by.
#[derive(Debug)]
pub(crate) struct CurrentConfig(RwLock<Arc<Config>>);

/// Answers reviews.
#[derive(Clone)]
pub(crate) struct Engine {
    config: Arc<CurrentConfig>,
    decide: Decide,
    large: Arc<Semaphore>,
}

/// The answer to a review.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) body: Vec<u8>,
    pub(crate) decision: &'static str,
    pub(crate) is_dry_run: bool,
}

/// Reviews that are not answered.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// There was no turn in time.
    Busy,
    Malformed(Malformed),
    /// The thread is gone. It does not happen: panics are caught.
    Lost,
}

thread_local! {
    /// This thread's reviewer, and the reviews that it has still to answer.
    static REVIEWER: RefCell<Option<(Reviewer, usize)>> = const { RefCell::new(None) };
}

impl CurrentConfig {
    pub(crate) fn new(config: Config) -> Self {
        Self(RwLock::new(Arc::new(config)))
    }

    pub(crate) fn get(&self) -> Arc<Config> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, config: Config) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }
}

impl Engine {
    pub(crate) fn new(config: Arc<CurrentConfig>, decide: Decide) -> Self {
        Self { config, decide, large: Arc::new(Semaphore::new(MAX_LARGE_REVIEWS)) }
    }

    /// Answers a review; a large one waits for its turn.
    ///
    /// An ordinary review takes less time than handing it to another thread and its answer back.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub(crate) async fn review(&self, hook: Hook, body: Body) -> Result<Reply, Unanswered> {
        let reply = match body.size() {
            Size::Ordinary => self.answer(hook, body),
            Size::Large => {
                let turn = timeout(MAX_WAIT_TIME, Arc::clone(&self.large).acquire_owned()).await;
                let turn = turn.map_err(|_| Unanswered::Busy)?.map_err(|_| Unanswered::Lost)?;
                let engine = self.clone();
                let review = move || {
                    let reply = engine.answer(hook, body);
                    drop(turn);
                    reply
                };
                spawn_blocking(review).await.map_err(|_| Unanswered::Lost)?
            }
        };
        reply.map_err(Unanswered::Malformed)
    }

    /// Decides on this thread, and has the decision logged.
    fn answer(&self, hook: Hook, body: Body) -> Result<Reply, Malformed> {
        let (config, kept) = (self.config.get(), REVIEWER.take());
        let kept = kept.filter(|(reviewer, left)| *left > 0 && Arc::ptr_eq(reviewer.config(), &config));
        let (reviewer, left) = kept.unwrap_or_else(|| (Reviewer::new(config), MAX_SHARED_REVIEWS));
        let answer = match catch_unwind(AssertUnwindSafe(|| (self.decide)(&reviewer, hook, body.bytes()))) {
            Ok(answer) => {
                REVIEWER.set(Some((reviewer, left - 1)));
                answer
            }
            // The panic may have left the reviewer half changed; the next review gets another.
            Err(_) => {
                let place = log::panic_place().unwrap_or_else(|| "an unknown place".to_owned());
                admission::fault(body.bytes(), format!("panic at {place}"))
            }
        };
        let Answer { body, decision, subject, message, is_fault } = answer?;
        let is_dry_run = subject.is_dry_run;
        // A task of its own, which runs when the answer has left: a write to the log may wait for its reader.
        tokio::spawn(async move { log_decision(hook, decision, &subject, &message, is_fault) });
        Ok(Reply { body, decision, is_dry_run })
    }
}

fn log_decision(hook: Hook, decision: &str, subject: &Subject, reason: &str, is_fault: bool) {
    let Subject { kind, namespace, name, is_dry_run } = subject;
    let (hook, dry_run) = (hook.name(), is_dry_run);
    let (kind, name) = (short(kind), short(name));
    let namespace = short(namespace.as_deref().unwrap_or_default());
    if is_fault {
        tracing::error!(hook, decision, kind, namespace, name, dry_run, reason, "reviewed");
    } else {
        tracing::info!(hook, decision, kind, namespace, name, dry_run, reason, "reviewed");
    }
}

/// A name as long as Kubernetes allows one: callers may send anything.
fn short(name: &str) -> &str {
    const MAX_NAME: usize = 253;
    name.char_indices().nth(MAX_NAME).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::limits::Bodies;
    use std::thread;

    const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"7","operation":"CREATE",
        "kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
        "namespace":"shop","object":{"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"web","image":"PLANTED"}]}}}}"#;

    fn planted(reviewer: &Reviewer, hook: Hook, body: &[u8]) -> Result<Answer, Malformed> {
        assert!(!body.windows(7).any(|window| window == b"PLANTED"), "a panic that quotes a password");
        reviewer.answer(hook, body)
    }

    fn slow(reviewer: &Reviewer, hook: Hook, body: &[u8]) -> Result<Answer, Malformed> {
        if body.windows(7).any(|window| window == b"PLANTED") {
            thread::sleep(MAX_WAIT_TIME * 3 / 2);
        }
        reviewer.answer(hook, body)
    }

    fn body(text: &str, promised: Option<usize>) -> Body {
        let mut body = Body::new(promised, &Arc::new(Bodies::default()));
        body.extend(text.as_bytes()).unwrap();
        body
    }

    fn ordinary(text: &str) -> Body {
        body(text, Some(text.len()))
    }

    fn engine(decide: Decide) -> Engine {
        Engine::new(Arc::new(CurrentConfig::new(Config::default())), decide)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    #[test]
    fn a_panic_allows_the_pod_and_the_next_review_is_answered() {
        let engine = engine(planted);
        block_on(async {
            for promised in [Some(REVIEW.len()), None] {
                let reply = engine.review(Hook::Mutate, body(REVIEW, promised)).await.unwrap();
                let answer: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
                assert_eq!(reply.decision, "internal-error");
                assert_eq!((&answer["response"]["allowed"], &answer["response"]["uid"]), (&true.into(), &"7".into()));
                assert_eq!(answer["response"]["auditAnnotations"]["decision"], "internal-error");
                assert!(answer["response"].get("patch").is_none());
                assert!(!answer.to_string().contains("password"));
                let reply = engine.review(Hook::Mutate, body(&REVIEW.replace("PLANTED", "web:1"), promised)).await;
                assert_eq!(reply.unwrap().decision, "injected");
            }
        });
    }

    #[test]
    fn a_large_review_waits_a_second_for_its_turn_and_ordinary_ones_never() {
        let engine = engine(slow);
        block_on(async {
            let review = |body: Body| {
                let engine = engine.clone();
                tokio::spawn(async move { engine.review(Hook::Mutate, body).await })
            };
            let (busy, late) = (review(body(REVIEW, None)), review(body(&REVIEW.replace("PLANTED", "web:1"), None)));
            let other = review(ordinary(&REVIEW.replace("PLANTED", "web:1"))).await.unwrap().unwrap();
            assert_eq!(other.decision, "injected");
            assert!(!busy.is_finished());
            assert!(matches!(late.await.unwrap(), Err(Unanswered::Busy)));
            assert_eq!(busy.await.unwrap().unwrap().decision, "injected");
        });
    }

    #[test]
    fn a_changed_configuration_holds_from_the_next_review_on() {
        let engine = engine(|reviewer, hook, body| reviewer.answer(hook, body));
        let decision = || block_on(engine.review(Hook::Mutate, ordinary(REVIEW))).unwrap().decision;
        assert_eq!(decision(), "injected");
        let mut config = Config::default();
        config.spec.injection = crate::config::InjectionMode::Disabled;
        engine.config.set(config);
        assert_eq!(decision(), "disabled");
    }

    #[test]
    fn names_are_cut_at_a_character() {
        assert_eq!(short("web"), "web");
        assert_eq!(short(&"あ".repeat(300)), "あ".repeat(253));
    }
}
