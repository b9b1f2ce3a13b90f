//! Decisions about reviews: small ones at once, others on threads of their own, a few at a time. A panic ends one review, not the
//! server.

use crate::admission::{self, Answer, Hook, Malformed, Reviewer, Subject};
use crate::config::Config;
use crate::webhook::limits::{Body, MAX_LARGE_REVIEWS, MAX_ORDINARY_REVIEWS, MAX_WAIT_TIME, Size};
use crate::webhook::log;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Stack of the threads for reviews, as much as the main thread has: documents may be nested deeply.
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
    ordinary: Arc<Semaphore>,
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
        let [ordinary, large] = [MAX_ORDINARY_REVIEWS, MAX_LARGE_REVIEWS].map(|turns| Arc::new(Semaphore::new(turns)));
        Self { config, decide, ordinary, large }
    }

    /// Answers a review. One that is not small waits for its turn, and for a thread.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub(crate) async fn review(&self, hook: Hook, body: Body) -> Result<Reply, Unanswered> {
        let turns = match body.size() {
            Size::Small => return self.answer(hook, body).map_err(Unanswered::Malformed),
            Size::Ordinary => &self.ordinary,
            Size::Large => &self.large,
        };
        let turn = timeout(MAX_WAIT_TIME, Arc::clone(turns).acquire_owned()).await;
        let turn = turn.map_err(|_| Unanswered::Busy)?.map_err(|_| Unanswered::Lost)?;
        let engine = self.clone();
        let review = move || {
            let reply = engine.answer(hook, body);
            drop(turn);
            reply
        };
        spawn_blocking(review).await.map_err(|_| Unanswered::Lost)?.map_err(Unanswered::Malformed)
    }

    /// Decides on this thread, and logs the decision.
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
        log_decision(hook, decision, &subject, &message, is_fault);
        Ok(Reply { body, decision, is_dry_run: subject.is_dry_run })
    }
}

fn log_decision(hook: Hook, decision: &str, subject: &Subject, reason: &str, is_fault: bool) {
    /// As long as Kubernetes allows a name.
    const MAX_NAME: usize = 253;
    const MAX_REASON: usize = 1000;
    let Subject { kind, namespace, name, is_dry_run } = subject;
    let (hook, dry_run) = (hook.name(), is_dry_run);
    let [kind, name] = [kind, name].map(|name| short(name, MAX_NAME));
    let namespace = short(namespace.as_deref().unwrap_or_default(), MAX_NAME);
    let reason = short(reason, MAX_REASON);
    if is_fault {
        tracing::error!(hook, decision, kind, namespace, name, dry_run, reason, "reviewed");
    } else {
        tracing::info!(hook, decision, kind, namespace, name, dry_run, reason, "reviewed");
    }
}

/// At most so many characters of a text: callers may send anything.
fn short(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
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
            for promised in [Some(REVIEW.len()), Some(100 << 10), None] {
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
    fn a_large_review_waits_a_second_for_its_turn_and_others_do_not_wait_for_it() {
        let engine = engine(slow);
        block_on(async {
            let review = |body: Body| {
                let engine = engine.clone();
                tokio::spawn(async move { engine.review(Hook::Mutate, body).await })
            };
            let (busy, late) = (review(body(REVIEW, None)), review(body(&REVIEW.replace("PLANTED", "web:1"), None)));
            let plain = REVIEW.replace("PLANTED", "web:1");
            for promised in [plain.len(), 100 << 10] {
                assert_eq!(review(body(&plain, Some(promised))).await.unwrap().unwrap().decision, "injected");
            }
            assert!(!busy.is_finished());
            assert!(matches!(late.await.unwrap(), Err(Unanswered::Busy)));
            assert_eq!(busy.await.unwrap().unwrap().decision, "injected");
        });
    }

    #[test]
    fn a_changed_configuration_holds_from_the_next_review_on() {
        let engine = engine(|reviewer, hook, body| reviewer.answer(hook, body));
        let decision = || block_on(engine.review(Hook::Mutate, body(REVIEW, Some(REVIEW.len())))).unwrap().decision;
        assert_eq!(decision(), "injected");
        let mut config = Config::default();
        config.spec.injection = crate::config::InjectionMode::Disabled;
        engine.config.set(config);
        assert_eq!(decision(), "disabled");
    }

    #[test]
    fn names_are_cut_at_a_character() {
        assert_eq!(short("web", 253), "web");
        assert_eq!(short(&"あ".repeat(300), 253), "あ".repeat(253));
    }
}
