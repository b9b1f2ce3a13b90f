//! Messages of one severity: the first ones are shown, those with the same sentence as one of them are folded into it.

use crate::diagnostic::OpenPicture;
use crate::report::Reason;
use std::collections::{BTreeMap, HashMap};

/// Places that a folded message names beside its own.
const MAX_PLACES: usize = 3;

/// A message in its three forms.
#[derive(Debug, Clone)]
pub(crate) struct MessageText {
    /// One line, for the log.
    pub(crate) line: String,
    /// The message with an excerpt of the text, for stderr.
    pub(crate) picture: OpenPicture,
    /// `web.yaml:3:1`, for a message that is folded into another one.
    pub(crate) place: String,
}

impl MessageText {
    /// Returns a message of one line.
    pub(crate) fn of_line(line: String) -> Self {
        Self {
            picture: OpenPicture::of_line(&line),
            line,
            place: String::new(),
        }
    }
}

/// Maximum numbers of messages that are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) all: usize,
    /// Messages of one reason: many alike do not hide the one that matters.
    pub(super) alike: usize,
}

impl Limits {
    pub(super) const UNLIMITED: Limits = Limits {
        all: usize::MAX,
        alike: usize::MAX,
    };
}

/// The part of a message that the report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// All of it.
    Full,
    /// Its place, in the message of this index, which has the same sentence.
    Place { shown_in: usize },
    /// Nothing: it only counts.
    Counted,
}

/// A message with those that are folded into it.
#[derive(Debug)]
struct ShownMessage {
    reason: Option<Reason>,
    text: MessageText,
    /// Number of messages that are folded into this one.
    folded: usize,
    /// Places of the first of them.
    places: Vec<String>,
}

/// The messages of one severity.
#[derive(Debug, Default)]
pub(super) struct MessageList {
    shown: Vec<ShownMessage>,
    /// Number of all messages.
    pub(super) count: usize,
    pub(super) counts: BTreeMap<Option<Reason>, usize>,
    /// Numbers of messages above the limits.
    left_out: BTreeMap<Option<Reason>, usize>,
    /// Indexes of shown messages by reason and sentence.
    by_sentence: HashMap<(Option<Reason>, String), usize>,
}

impl MessageList {
    /// Counts a message and returns the part of it to show. Messages with an equal `sentence` are folded.
    pub(super) fn register(
        &mut self,
        reason: Option<Reason>,
        sentence: Option<String>,
        limits: Limits,
    ) -> Visibility {
        self.count += 1;
        *self.counts.entry(reason).or_default() += 1;
        let key = sentence.map(|sentence| (reason, sentence));
        if let Some(key) = &key
            && let Some(index) = self.by_sentence.get(key).copied()
            && let Some(first) = self.shown.get_mut(index)
        {
            first.folded += 1;
            return if first.folded <= MAX_PLACES {
                Visibility::Place { shown_in: index }
            } else {
                Visibility::Counted
            };
        }
        let index = self.shown.len();
        if index >= limits.all || index >= limits.alike && self.alike(reason) >= limits.alike {
            *self.left_out.entry(reason).or_default() += 1;
            return Visibility::Counted;
        }
        if let Some(key) = key {
            self.by_sentence.insert(key, index);
        }
        Visibility::Full
    }

    /// Returns the number of shown messages of a reason.
    fn alike(&self, reason: Option<Reason>) -> usize {
        let shown = self.shown.iter();
        shown.filter(|shown| shown.reason == reason).count()
    }

    /// Adds the text of a registered message.
    pub(super) fn add(
        &mut self,
        reason: Option<Reason>,
        visibility: Visibility,
        text: MessageText,
    ) {
        match visibility {
            Visibility::Full => self.shown.push(ShownMessage {
                reason,
                text,
                folded: 0,
                places: Vec::new(),
            }),
            Visibility::Place { shown_in } => {
                if let Some(first) = self.shown.get_mut(shown_in) {
                    first.places.push(text.place);
                }
            }
            Visibility::Counted => {}
        }
    }

    /// Returns the shown messages, and a line with the number of those left out. `noun` names one message, such as `warning`;
    /// `hint` says where to find the others.
    pub(super) fn pictures(&self, noun: &str, hint: Option<&str>) -> Vec<String> {
        let mut pictures = Vec::new();
        for shown in &self.shown {
            let note = shown.folded_note(hint);
            let picture = shown.text.picture.clone().finish(note.as_deref());
            pictures.push(picture.trim_end().to_owned());
        }
        pictures.extend(self.left_out_line(noun, hint));
        pictures
    }

    /// `… and 22 more warnings (17 short-termination, 5 qos-changed); `-v` shows all`
    fn left_out_line(&self, noun: &str, hint: Option<&str>) -> Option<String> {
        if self.left_out.is_empty() {
            return None;
        }
        let mut counts = Vec::new();
        for (reason, count) in &self.left_out {
            counts.extend(reason.map(|reason| format!("{count} {}", reason.id())));
        }
        let total = self.left_out.values().sum();
        let mut line = format!("… and {}", plural(total, &format!("more {noun}")));
        if !counts.is_empty() {
            line += &format!(" ({})", counts.join(", "));
        }
        if let Some(hint) = hint {
            line += &format!("; {hint}");
        }
        Some(line)
    }
}

impl ShownMessage {
    /// `4 more: b:1, c:1, d:1 and 1 other (`-v` shows all)`
    fn folded_note(&self, hint: Option<&str>) -> Option<String> {
        if self.folded == 0 {
            return None;
        }
        let mut note = format!("{} more: {}", self.folded, self.places.join(", "));
        let others = self.folded - self.places.len();
        if others > 0 {
            note += &format!(" and {}", plural(others, "other"));
            if let Some(hint) = hint {
                note += &format!(" ({hint})");
            }
        }
        Some(note)
    }
}

/// `1 warning`, `2 warnings`
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
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
            let visibility = list.register(
                reason,
                sentence.map(str::to_owned),
                Limits { all: 20, alike: 3 },
            );
            let text = MessageText {
                place: place.to_owned(),
                ..MessageText::of_line(format!("warning: {place}"))
            };
            list.add(reason, visibility, text);
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
