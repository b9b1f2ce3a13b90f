//! Checks the single values of an agent's configuration.

use super::{Check, Sudo};
use crate::config::{AgentSettings, Role, Scalar as _, Violation, go_regexp, unknown_word};
use crate::mackerel::config_file::Least;
use crate::mackerel::names::CONTAINER;
use yaml_json_patch::{Kind, NodeId, ScalarValue, scalar_value};

impl Check<'_, '_> {
    pub(super) fn is_blank(&self, node: NodeId) -> bool {
        let node = self.tree.alias_target(node);
        match self.tree.kind(node) {
            Kind::Sequence => self.tree.items(node).next().is_none(),
            _ => self.is_nothing(node) || self.text(node).is_some_and(|text| text.is_empty()),
        }
    }

    pub(super) fn is_nothing(&self, node: NodeId) -> bool {
        matches!(
            scalar_value(self.tree, self.tree.alias_target(node)),
            Ok(ScalarValue::Null)
        )
    }

    pub(super) fn is_word(&self, node: NodeId, word: &str) -> bool {
        self.text(node).is_some_and(|text| text == word)
    }

    /// Returns the text of a scalar.
    pub(super) fn text(&self, node: NodeId) -> Option<String> {
        self.tree
            .scalar(self.tree.alias_target(node))
            .map(|text| text.into_owned())
    }

    pub(super) fn is_text(&mut self, place: &str, value: NodeId) {
        if self.text(value).is_none() {
            self.must_be(place, value, "text");
        }
    }

    pub(super) fn pattern(&mut self, place: &str, node: NodeId, value: NodeId) {
        let Some(pattern) = self.text(value) else {
            return self.must_be(place, value, "text");
        };
        if let Err(why) = go_regexp::check(&pattern) {
            let message = format!("`{place}` is not a valid Go regular expression: {why}");
            self.invalid(value, &message, None);
        } else if pattern.is_empty() {
            let message = format!(
                "`{place}` is empty and matches every container, so the agent reports none"
            );
            self.invalid(value, &message, Some("remove it".to_owned()));
        } else if misses_the_agent(&pattern) {
            let message = format!(
                "`{place}` replaces the pattern of the injector, so the agent also reports its own container"
            );
            let help = format!(
                "set `{}` instead, which is combined with the pattern of the injector",
                AgentSettings::ignore_container()
            );
            self.invalid(node, &message, Some(help));
        }
    }

    pub(super) fn one_of(&mut self, place: &str, value: NodeId, words: &[&'static str]) {
        let Some(text) = self.text(value) else {
            return self.must_be(place, value, "text");
        };
        if !words.contains(&&*text) {
            let Violation { what, help } = unknown_word(&text, words);
            self.invalid(value, &format!("`{place}` {what}"), help);
        }
    }

    pub(super) fn roles(&mut self, roles: NodeId) {
        for (index, role) in self.list("roles", roles).into_iter().enumerate() {
            let place = format!("roles[{index}]");
            match self.text(role).map(|text| Role::parse(&text)) {
                None => self.must_be(&place, role, "a role"),
                Some(Err(Violation { what, help })) => {
                    let message =
                        format!("`{place}` {what}; Mackerel rejects it, so the agent exits");
                    self.invalid(role, &message, help);
                }
                Some(Ok(_)) => {}
            }
        }
    }

    /// Checks a whole number. The agent drops a fraction.
    pub(super) fn whole(&mut self, place: &str, value: NodeId, least: Least) {
        let is_below = match scalar_value(self.tree, self.tree.alias_target(value)) {
            Ok(ScalarValue::Int(number)) => number < 0,
            Ok(ScalarValue::Float(number)) => number < 0.0,
            _ => return self.must_be(place, value, "a whole number"),
        };
        if is_below && least == Least::Zero {
            self.invalid(
                value,
                &format!("`{place}` is below 0; the agent exits"),
                None,
            );
        }
    }

    /// Checks a port, which the agent reads as text: a number, or the name of a service.
    pub(super) fn port(&mut self, place: &str, value: NodeId) {
        let Some(port) = self.text(value) else {
            return self.must_be(place, value, "a port");
        };
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && port.parse::<u16>().unwrap_or_default() == 0 {
            let message = format!(
                "`{place}` must be a port from 1 to 65535, found `{port}`; the probe never succeeds"
            );
            self.invalid(value, &message, None);
        }
    }

    pub(super) fn command(&mut self, place: &str, value: NodeId) {
        let value = self.tree.alias_target(value);
        let is_words = self.tree.kind(value) == Kind::Sequence
            && self.tree.items(value).all(|word| self.text(word).is_some());
        if !is_words && self.text(value).is_none() {
            self.must_be(place, value, "text or a list of words");
        }
    }

    pub(super) fn user(&mut self, place: &str, node: NodeId, value: NodeId) {
        self.is_text(place, value);
        if self.pod.sudo == Sudo::Fails && !self.is_blank(value) {
            let message = format!(
                "`{place}` needs sudo, which the security context of the agent does not allow"
            );
            let help = format!(
                "remove it to run the command as the user of the agent, or relax `{}`",
                AgentSettings::security_context()
            );
            self.invalid(node, &message, Some(help));
        }
    }

    pub(super) fn variables(&mut self, place: &str, env: NodeId) {
        for (name, node, value) in self.entries(env, place) {
            if name.contains('=') {
                self.invalid(
                    node,
                    &format!("the name `{name}` contains `=`; the agent exits"),
                    None,
                );
            }
            self.is_text(&format!("{place}.{name}"), value);
        }
    }
}

/// Returns true if a regular expression is sure not to match the injected container: one of words only, perhaps with anchors
/// and `|`.
fn misses_the_agent(pattern: &str) -> bool {
    let whole = pattern
        .strip_prefix("^(")
        .and_then(|rest| rest.strip_suffix(")$"));
    whole.unwrap_or(pattern).split('|').all(|word| {
        let (from_start, word) = word
            .strip_prefix('^')
            .map_or((whole.is_some(), word), |rest| (true, rest));
        let (to_end, word) = word
            .strip_suffix('$')
            .map_or((whole.is_some(), word), |rest| (true, rest));
        let is_plain = word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let matches = match (from_start, to_end) {
            (true, true) => CONTAINER == word,
            (true, false) => CONTAINER.starts_with(word),
            (false, true) => CONTAINER.ends_with(word),
            (false, false) => CONTAINER.contains(word),
        };
        is_plain && !matches
    })
}

#[cfg(test)]
mod tests {
    use super::misses_the_agent;

    #[test]
    fn only_patterns_of_words_are_sure_to_miss_the_agent() {
        for (pattern, misses) in [
            ("proxy", true),
            ("^(proxy|cache)$", true),
            ("^mackerel$", true),
            ("agent|^proxy", false),
            ("mackerel", false),
            ("(mackerel|proxy)-.*", false),
            ("a|", false),
            (".", false),
        ] {
            assert_eq!(misses_the_agent(pattern), misses, "{pattern}");
        }
    }
}
