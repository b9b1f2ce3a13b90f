//! The patterns by which the schema describes text. The program judges the same forms by hand, see `grammar.rs`.

use crate::{NamespacePattern, checked, kubernetes, role::Role};
use proptest::prelude::{any, prop};
use proptest::sample::select;
use proptest::test_runner::{Config as Runs, TestCaseError, TestRunner};
use regex_lite::Regex;

/// A DNS subdomain.
macro_rules! subdomain {
    () => {
        r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
    };
}

/// A label's value, or a name without prefix.
macro_rules! qualified {
    () => {
        "[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
    };
}

/// A service or a role.
macro_rules! role {
    () => {
        concat!(
            r"([A-Za-z0-9][A-Za-z0-9_-]{1,62}|\$\((namespace|label:(",
            subdomain!(),
            "/)?",
            qualified!(),
            r")\))"
        )
    };
}

/// A name in a path: neither empty nor `..`, and without these characters.
macro_rules! path_name {
    ($without:literal) => {
        concat!(
            r"(\.{0,2}[^./",
            $without,
            "][^/",
            $without,
            r"]*|\.{3}[^/",
            $without,
            r"]*|\.)"
        )
    };
}

/// A pattern: its type or form, then text that it takes, and the characters that matter in it.
type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
);

const LONG: &str = "aZ3456789012345678901234567890123456789012345678901234567890_-9";

const SHA: &str = "r.io/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

// Empty text unsets an optional setting, so that the patterns of their types take it.
#[rustfmt::skip]
const PATTERNS: &[Row] = &[
    ("ObjectName", concat!("^(", subdomain!(), ")?$"), &["a.b-c.d"], "aA0-._"),
    ("Namespace", "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$", &["a-b", "a23456789012345678901234567890123456789012345678901234567890-23"], "aA0-."),
    ("NamespacePattern", "^[a-z0-9*?]([a-z0-9*?-]{0,61}[a-z0-9*?])?$", &["a-*b?"], "aA0-*?."),
    ("DataKey", r"^\.?[A-Za-z0-9_-][A-Za-z0-9._-]*$", &[".a_B-c.d"], "aA0-_./"),
    ("Image", concat!(
        r"^((([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(:[0-9]+)?/)?",
        r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)*",
        r"(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha(256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128}))?",
        r"|[!-~]*(\$|#\{|__[A-Z])[!-~]*)?$",
    ), &["R-1.io:50/a/b__c:v1_X.y-", "[::1F]:5/a.b:_", "[0]/a", SHA, "a:1@sha384:", "${A}/b", "a:#{b}", "___A__", "é$"], "aA0-_.:/@[ $#{"),
    ("ConfigLocation", r"^((https?://|s3://|file:///|/)[^\x00-\x20\x7f]*)?$", &["https://a/é", "http://a", "s3://b", "file:///c", "/d"], "ahs:/ \n\u{7f}é"),
    ("ApiUrl", r"^(https?://[^/?#\x00-\x20\x7f]+/?)?$", &["https://a/", "http://[::1]:8/"], "as:/?# \n\u{7f}é"),
    ("HostText", concat!(
        r"^([^$]|\$([^(]|\((label:(", subdomain!(), "/)?", qualified!(), r"|[^:)]*)\)|\([^)]*$))*\$?$",
    ), &["a$(label:b.c/D)$$(e:f)$(g)$h$", "$$$(a:b", "\n$\n(é:$(label:é)"], "a:$()/é"),
    ("MetadataName", concat!("^(", subdomain!(), "/)?", qualified!(), "$"), &["a.b-c/D_e.f", LONG], "aA-._/"),
    ("Group", concat!("^(", subdomain!(), ")?$"), &["a.b-c"], "aA-._/"),
    ("Kind", "^[A-Z][A-Za-z0-9]{0,62}$", &["Ab0", "Z23456789012345678901234567890123456789012345678901234567890123"], "aA0-.é"),
    ("LabelValue", concat!("^(", qualified!(), ")?$"), &["a_B-c.d", LONG], "aA0-._/"),
    ("Role", concat!("^", role!(), ":", role!(), "$"), &["a-b:c_d", "$(namespace):$(label:a.b/c)", "$(label:a):bc", "売り場:ab", "aZ345678901234567890123456789012345678901234567890123456789_-9:ab"], "aA-_.:$()/"),
    ("ABSOLUTE_PATH", concat!("^(/+(", path_name!(""), "(/+", path_name!(""), ")*/*)?)$"), &["//a/...b/", "/a/./..b"], "a./: \n"),
    ("AMOUNT", r"^([0-9]+(\.[0-9]+)?([kMGTPE]|[KMGTPE]i|[eE][0-9]+)?)$", &["10.5Mi", "1e9", "2k", "3Ki"], "1.kKmEeMi"),
    ("DATA_KEY", r"^(\.?[A-Za-z0-9_-][A-Za-z0-9._-]*)$", &[".a_B-c.d"], "aA0-_./"),
    ("DIVISOR", "^(0|1([mkMGTPE]|[KMGTPE]i)?)$", &["0", "1Gi", "1m", "1T", "1Pi"], "01kKmEMi"),
    ("FIELD", concat!(
        r"^(metadata\.(name|namespace|uid|(labels|annotations)\['(", subdomain!(), "/)?", qualified!(), r"'\])|",
        r"spec\.(nodeName|serviceAccountName)|status\.(hostIP|podIP)s?)$",
    ), &["metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels['a.b/C']", "metadata.annotations['a']", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.podIPs"], "as.'[]/"),
    ("HEADER", "^([A-Za-z0-9-]+)$", &["X-A1"], "aA0-_ "),
    ("INNER_PATH", concat!("^((", path_name!(""), "(/+", path_name!(""), ")*/*)?)$"), &["a//...b/", "./..b"], "a./: \n"),
    ("MOUNT_PATH", concat!("^((/+", path_name!(":"), ")+/*)$"), &["//a/...b/", "/./..b"], "a./: \n"),
    ("OBJECT_NAME", concat!("^(", subdomain!(), ")$"), &["a.b-c.d"], "aA0-._"),
    ("PREFIX", "^([!-<>-~]*)$", &["A_b-c."], "aA=~! \u{7f}"),
    ("PROFILE", "^([!-~]+)$", &["a/b=c"], "aA=~! \u{7f}"),
    ("RESOURCE", r"^((requests|limits)\.(cpu|memory|ephemeral-storage))$", &["limits.cpu", "requests.memory", "limits.ephemeral-storage"], "s.-"),
    ("VARIABLE", "^([!-<>-~]+)$", &["A_b-c."], "aA=~! \u{7f}"),
    ("VOLUME", "^([a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?)$", &["a-b", "a2345678901234567890123456789012345678901234567-"], "aA0-."),
];

/// Returns the pattern of a type or a form.
pub fn of(name: &str) -> &'static str {
    PATTERNS
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, pattern, ..)| *pattern)
        .unwrap_or_else(|| panic!("{name} has a pattern"))
}

type Judge = fn(&str) -> bool;

/// A form, and what the program and the schema say of it.
struct Judged {
    name: &'static str,
    pattern: Regex,
    is_of_form: Judge,
    examples: &'static [&'static str],
    letters: Vec<char>,
}

impl Judged {
    fn all() -> impl Iterator<Item = Self> {
        PATTERNS
            .iter()
            .map(|(name, pattern, examples, letters)| Self {
                name,
                pattern: Regex::new(pattern).unwrap(),
                is_of_form: function(name),
                examples,
                letters: letters.chars().collect(),
            })
    }

    /// Compares both. A type whose pattern takes empty text, for optional settings, may itself refuse it.
    fn check(&self, text: &str) -> Result<(), String> {
        let (found, expected) = ((self.is_of_form)(text), self.pattern.is_match(text));
        if found == expected || text.is_empty() && expected {
            return Ok(());
        }
        Err(format!("{}: {text:?} is taken: {found}", self.name))
    }
}

fn function(name: &str) -> Judge {
    let own: [(&str, Judge); 2] = [
        ("Role", |text| text.parse::<Role>().is_ok()),
        ("NamespacePattern", |text| {
            text.parse::<NamespacePattern>().is_ok()
        }),
    ];
    let forms = kubernetes::FORMS
        .iter()
        .map(|(known, form)| (*known, form.is_of_form));
    own.into_iter()
        .chain(checked::FORMS.iter().copied())
        .chain(forms)
        .find(|(known, _)| *known == name)
        .map(|(_, is_of_form)| is_of_form)
        .unwrap_or_else(|| panic!("{name} is declared"))
}

/// Replaces, removes or inserts a character.
fn change(text: &mut Vec<char>, at: usize, letter: char) {
    let (at, kind) = (at / 3 % (text.len() + 1), at % 3);
    if kind == 0 {
        text.insert(at, letter);
    } else if at < text.len() && kind == 1 {
        text[at] = letter;
    } else if at < text.len() {
        text.remove(at);
    }
}

#[test]
fn every_short_text_is_judged_as_the_pattern_says() {
    for form in Judged::all() {
        let mut texts = vec![String::new()];
        while texts.len() * form.letters.len() <= 10_000 {
            texts = texts
                .iter()
                .flat_map(|text| {
                    form.letters
                        .iter()
                        .map(move |letter| format!("{text}{letter}"))
                })
                .collect();
            texts.iter().for_each(|text| form.check(text).unwrap());
        }
    }
}

#[test]
fn changed_examples_are_judged_as_the_pattern_says() {
    let runs = Runs {
        failure_persistence: None,
        ..Runs::with_cases(500)
    };
    for form in Judged::all() {
        let changes = prop::collection::vec((any::<usize>(), select(form.letters.clone())), 0..4);
        TestRunner::new(runs.clone())
            .run(&(select(form.examples), changes), |(example, changes)| {
                let mut text: Vec<char> = example.chars().collect();
                for (at, letter) in changes {
                    change(&mut text, at, letter);
                }
                form.check(&text.into_iter().collect::<String>())
                    .map_err(TestCaseError::fail)
            })
            .unwrap_or_else(|failure| panic!("{failure}"));
    }
}
