//! Messages of one severity: the first ones are shown, those with the same sentence as one of them are folded into it.

use crate::diagnostic::OpenPicture;
use crate::report::Reason;
use std::collections::{BTreeMap, HashMap};

/// Places that a folded message names beside its own.
const MAX_PLACES: usize = 3;

/// One message in its forms.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// For the log: one line.
    pub(crate) line: String,
    /// For stderr: with the line that it is about.
    pub(crate) picture: OpenPicture,
    /// `web.yaml:3:1`, for a message that is folded into another one.
    pub(crate) place: String,
}

impl Message {
    /// Returns a message of one line.
    pub(crate) fn of_line(line: String) -> Self {
        Self {
            picture: OpenPicture::of_line(&line),
            line,
            place: String::new(),
        }
    }
}

/// Numbers of messages that are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) all: usize,
    /// Messages of one reason: many alike do not hide the one that matters.
    pub(super) alike: usize,
}

impl Limits {
    pub(super) const NONE: Limits = Limits {
        all: usize::MAX,
        alike: usize::MAX,
    };
}

/// The treatment of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// It is shown.
    Shown,
    /// The message with this index has the same sentence and names the place of this one too.
    PlaceOf(usize),
    /// It is counted.
    Counted,
}

#[derive(Debug)]
struct ShownMessage {
    reason: Option<Reason>,
    message: Message,
    /// Messages that are folded into this one.
    folded: usize,
    /// Places of the first of them.
    places: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct MessageList {
    shown: Vec<ShownMessage>,
    pub(super) count: usize,
    pub(super) counts: BTreeMap<Option<Reason>, usize>,
    left_out: BTreeMap<Option<Reason>, usize>,
    /// Indexes of shown messages that take others in.
    by_sentence: HashMap<(Option<Reason>, String), usize>,
}

impl MessageList {
    /// Counts a message. Those with an equal `sentence` are folded.
    pub(super) fn admit(
        &mut self,
        reason: Option<Reason>,
        sentence: Option<String>,
        limits: Limits,
    ) -> Treatment {
        self.count += 1;
        *self.counts.entry(reason).or_default() += 1;
        let key = sentence.map(|sentence| (reason, sentence));
        if let Some(index) = key
            .as_ref()
            .and_then(|key| self.by_sentence.get(key))
            .copied()
            && let Some(first) = self.shown.get_mut(index)
        {
            first.folded += 1;
            return if first.folded <= MAX_PLACES {
                Treatment::PlaceOf(index)
            } else {
                Treatment::Counted
            };
        }
        let shown = self.shown.len();
        let alike = || {
            self.shown
                .iter()
                .filter(|shown| shown.reason == reason)
                .count()
        };
        if shown >= limits.all || shown >= limits.alike && alike() >= limits.alike {
            *self.left_out.entry(reason).or_default() += 1;
            return Treatment::Counted;
        }
        if let Some(key) = key {
            self.by_sentence.insert(key, self.shown.len());
        }
        Treatment::Shown
    }

    /// Adds an admitted message.
    pub(super) fn put(&mut self, treatment: Treatment, reason: Option<Reason>, message: Message) {
        match treatment {
            Treatment::Shown => self.shown.push(ShownMessage {
                reason,
                message,
                folded: 0,
                places: Vec::new(),
            }),
            Treatment::PlaceOf(index) => {
                if let Some(first) = self.shown.get_mut(index) {
                    first.places.push(message.place);
                }
            }
            Treatment::Counted => {}
        }
    }

    /// The shown messages, and how many are left out. `what` names one of them, `how` says where all are.
    pub(super) fn pictures(&self, what: &str, how: Option<&str>) -> Vec<String> {
        let pictures = self.shown.iter().map(
            |ShownMessage {
                 message,
                 folded,
                 places,
                 ..
             }| {
                let note = (*folded > 0).then(|| {
                    let others = match folded - places.len() {
                        0 => String::new(),
                        others => format!(
                            " and {}{}",
                            plural(others, "other"),
                            how.map(|how| format!(" ({how})")).unwrap_or_default()
                        ),
                    };
                    format!("{folded} more: {}{others}", places.join(", "))
                });
                message
                    .picture
                    .clone()
                    .finish(note.as_deref())
                    .trim_end()
                    .to_owned()
            },
        );
        pictures.chain(self.more(what, how)).collect()
    }

    /// `… and 22 more warnings (17 short-termination, 5 qos-changed); `-v` shows all`
    fn more(&self, what: &str, how: Option<&str>) -> Option<String> {
        let rest: usize = self.left_out.values().sum();
        let counts = self
            .left_out
            .iter()
            .filter_map(|(reason, count)| Some(format!("{count} {}", (*reason)?.id())));
        let counts: Vec<String> = counts.collect();
        let counts = if counts.is_empty() {
            String::new()
        } else {
            format!(" ({})", counts.join(", "))
        };
        let how = how.map(|how| format!("; {how}")).unwrap_or_default();
        (rest > 0).then(|| {
            format!(
                "… and {}{counts}{how}",
                plural(rest, &format!("more {what}"))
            )
        })
    }
}

pub(crate) fn plural(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sentences_are_one_message_with_the_first_places() {
        let mut list = MessageList::default();
        let mut add = |sentence: Option<&str>, place: &str| {
            let reason = Some(Reason::QosChanged);
            let treatment = list.admit(
                reason,
                sentence.map(str::to_owned),
                Limits { all: 20, alike: 3 },
            );
            let message = Message {
                place: place.to_owned(),
                ..Message::of_line(format!("warning: {place}"))
            };
            list.put(treatment, reason, message);
        };
        for place in ["a:1", "b:1", "c:1", "d:1", "e:1"] {
            add(Some("same"), place);
        }
        add(Some("other"), "f:1");
        add(Some("other"), "g:1");
        add(None, "h:1");
        add(None, "i:1");
        let shown = list.pictures("warning", Some("`-v` shows all"));
        let expected = [
            "warning: a:1\n  = note: 4 more: b:1, c:1, d:1 and 1 other (`-v` shows all)",
            "warning: f:1\n  = note: 1 more: g:1",
            "warning: h:1",
            "… and 1 more warning (1 qos-changed); `-v` shows all",
        ];
        assert_eq!(
            (shown, list.count),
            (expected.map(str::to_owned).to_vec(), 9)
        );
    }
}
