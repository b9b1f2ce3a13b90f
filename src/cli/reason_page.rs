//! The page of a reason, as the documents have it: `explain --reason ID`.

use crate::cli::messages::colour_of;
use crate::cli::{stdout, variable};
use report::{BOLD, Colour, Reason, closest};
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

const ENGLISH: &str = include_str!("../../docs/en/reasons.md");
const JAPANESE: &str = include_str!("../../docs/ja/reasons.md");

/// Prints the page of a reason, in the language of the user.
pub fn print(id: &str) -> anyhow::Result<()> {
    let ids = Reason::ALL.iter().map(|reason| reason.id());
    let problems = Reason::ALL.iter().map(|reason| reason.problem().id);
    if !ids.clone().chain(problems).any(|known| known == id) {
        let hint = match closest(id, ids) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use an id of the output, such as `hand-edited`".to_owned(),
        };
        anyhow::bail!("unknown reason `{id}`; {hint}");
    }
    let page = if is_japanese(variable) {
        JAPANESE
    } else {
        ENGLISH
    };
    let section = without_targets(section(page, id));
    if io::stdout().is_terminal() {
        let section = for_terminal(&section, colour_of(&io::stdout()));
        return Ok(stdout::write([&*section])?);
    }
    Ok(stdout::write([&*section])?)
}

/// Returns a page as a terminal shows it: without the signs of a heading, and in bold what has stars.
fn for_terminal(page: &str, colour: Colour) -> String {
    let bold = |text: &str| colour.paint(text, BOLD).into_owned();
    let (heading, body) = page.split_once('\n').unwrap_or((page, ""));
    let heading = heading.trim_start_matches("### ").replace('`', "");
    let parts = body
        .split("**")
        .enumerate()
        .map(|(index, part)| match index % 2 {
            0 => part.to_owned(),
            _ => bold(part),
        });
    [bold(&heading), "\n".to_owned()]
        .into_iter()
        .chain(parts)
        .collect()
}

/// Returns the words of links, whose targets are no files of the user: `[a setting](annotations.md#fields)` -> `a setting`
fn without_targets(page: &str) -> String {
    let mut parts = page.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(start) = text.rfind('[') {
            text.remove(start);
        }
        text += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    text
}

/// Returns true if the first of the variables for the language of messages that is set asks for Japanese.
fn is_japanese(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .find_map(variable)
        .is_some_and(|language| language.as_encoded_bytes().starts_with(b"ja"))
}

/// Returns the part of a page below the heading of an id, up to the next heading.
fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let heading = format!("### `{id}`\n");
    let section = &page[page.find(&heading).unwrap_or(page.len())..];
    let end = section.find("\n\n##").map_or(section.len(), |end| end + 1);
    &section[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_page_in_both_languages() {
        for (page, remedy) in [(ENGLISH, "**What to do**"), (JAPANESE, "**対処**")] {
            let reasons = Reason::ALL.iter();
            for id in reasons.flat_map(|reason| [reason.id(), reason.problem().id]) {
                let section = section(page, id);
                assert!(section.starts_with(&format!("### `{id}`\n")), "{id}");
                assert_eq!(section.matches(remedy).count(), 1, "{section}");
                assert!(!without_targets(section).contains(".md"), "{section}");
            }
        }
    }

    #[test]
    fn links_are_their_words() {
        assert_eq!(
            without_targets("`[{a: b}]` or [a `setting`](a.md#b), or [another](#c).\n"),
            "`[{a: b}]` or a `setting`, or another.\n"
        );
    }

    #[test]
    fn a_terminal_shows_no_signs_of_markdown() {
        let page = "### `hook`\n\nA hook.\n\n**Why**: `a`\n";
        assert_eq!(
            for_terminal(page, Colour::Never),
            "hook\n\nA hook.\n\nWhy: `a`\n"
        );
    }

    #[test]
    fn the_first_variable_that_is_set_chooses_the_language() {
        for (set, expected) in [
            (&[][..], false),
            (&[("LANG", "ja_JP.UTF-8")], true),
            (
                &[("LANG", "ja_JP.UTF-8"), ("LC_MESSAGES", "en_US.UTF-8")],
                false,
            ),
            (&[("LANG", "en_US.UTF-8"), ("LC_ALL", "ja_JP.UTF-8")], true),
            (&[("LANG", "ja_JP.UTF-8"), ("LC_ALL", "C")], false),
        ] {
            let variable = |name: &str| {
                let mut set = set.iter();
                let value = set.find(|(known, _)| *known == name);
                value.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(is_japanese(variable), expected, "{set:?}");
        }
    }
}
