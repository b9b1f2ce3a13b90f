//! Checks patterns as Go's `regexp` package does with Perl flags: the agent exits at its start on an invalid one. Rust's
//! crates accept more in some places and less in others.

use std::iter::Peekable;
use std::str::Chars;

/// Go's limit on the depth of groups, and on repetitions, multiplied through nested groups.
const MAX_REPEAT: u32 = 1000;

/// Unicode classes known to every Go version that the agent was built with, without rare scripts.
const UNICODE_CLASSES: [&str; 44] = [
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N",
    "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So",
    "Z", "Zl", "Zp", "Zs", "Any", "Common", "Latin", "Greek", "Cyrillic", "Han", "Hiragana",
    "Katakana",
];

const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// Checks a pattern; the error says what is wrong with it.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    let mut parser = Parser {
        rest: pattern.chars().peekable(),
        groups: Vec::new(),
        may_close: true,
        at: GroupLevel::default(),
    };
    while let Some(character) = parser.rest.next() {
        parser.piece(character)?;
    }
    if parser.groups.is_empty() {
        Ok(())
    } else {
        Err("a `(` is never closed".to_owned())
    }
}

struct Parser<'p> {
    rest: Peekable<Chars<'p>>,
    /// The enclosing groups.
    groups: Vec<GroupLevel>,
    /// False once no `:]` is ahead: every `[:` would look for it up to the end.
    may_close: bool,
    at: GroupLevel,
}

/// State of parsing one group, or the whole pattern.
#[derive(Default)]
struct GroupLevel {
    /// Repetitions of the preceding piece, multiplied through nested groups; `None` at the start.
    before: Option<u32>,
    /// The maximum of the group's pieces so far.
    most: u32,
    /// The preceding piece has a repetition already.
    repeated: bool,
}

impl Parser<'_> {
    fn piece(&mut self, character: char) -> Result<(), String> {
        match character {
            '(' if self.skip('?') => return self.flags(),
            '(' => return self.open(),
            ')' => {
                let outer = self.groups.pop().ok_or("a `)` has no `(`")?;
                let inner = std::mem::replace(&mut self.at, outer);
                self.atom(inner.most);
            }
            '|' => {
                self.at.before = None;
                self.at.repeated = false;
            }
            '*' | '+' | '?' => return self.repeat(None),
            '{' => match self.counts() {
                Some((least, most))
                    if least > MAX_REPEAT
                        || most.is_some_and(|most| most > MAX_REPEAT || most < least) =>
                {
                    return Err(format!(
                        "a repetition is above {MAX_REPEAT}, or its maximum is below its minimum"
                    ));
                }
                Some((0, None)) => return self.repeat(None),
                Some((least, most)) => return self.repeat(Some(most.unwrap_or(least))),
                None => self.atom(1),
            },
            '[' => {
                self.class()?;
                self.atom(1);
            }
            '\\' => return self.escaped(),
            _ => self.atom(1),
        }
        Ok(())
    }

    /// Records a piece that can be repeated.
    fn atom(&mut self, times: u32) {
        self.at.before = Some(times.max(1));
        self.at.most = self.at.most.max(times).max(1);
        self.at.repeated = false;
    }

    fn skip(&mut self, wanted: char) -> bool {
        self.rest.next_if_eq(&wanted).is_some()
    }

    fn open(&mut self) -> Result<(), String> {
        if self.groups.len() >= MAX_REPEAT as usize {
            return Err(format!("groups are nested more than {MAX_REPEAT} deep"));
        }
        self.groups.push(std::mem::take(&mut self.at));
        Ok(())
    }

    /// Records a repetition; `times` is `None` for `*`, `+` and `?`, which do not count.
    fn repeat(&mut self, times: Option<u32>) -> Result<(), String> {
        self.skip('?');
        if self.at.repeated {
            return Err("a repetition follows a repetition".to_owned());
        }
        let before = self
            .at
            .before
            .ok_or("a repetition has nothing before it to repeat")?;
        let times = match times {
            None => before,
            Some(0) => 1,
            Some(times) => before.saturating_mul(times),
        };
        if times > MAX_REPEAT {
            return Err(format!(
                "nested repetitions add up to more than {MAX_REPEAT}"
            ));
        }
        self.atom(times);
        self.at.repeated = true;
        Ok(())
    }

    /// Reads `2}`, `2,}` or `2,3}` as minimum and maximum. After anything else, `{` is a character.
    fn counts(&mut self) -> Option<(u32, Option<u32>)> {
        let mut ahead = self.rest.clone();
        let least = number(&mut ahead)?;
        let most = match ahead.next()? {
            '}' => Some(least),
            ',' if ahead.next_if_eq(&'}').is_some() => None,
            ',' => Some(number(&mut ahead).filter(|_| ahead.next() == Some('}'))?),
            _ => return None,
        };
        self.rest = ahead;
        Some((least, most))
    }

    /// Reads a group's name or flags behind `(?`.
    fn flags(&mut self) -> Result<(), String> {
        let mut ahead = self.rest.clone();
        let named = match ahead.next() {
            Some('P') => ahead.next() == Some('<'),
            Some('<') => !matches!(ahead.peek(), Some('=' | '!')),
            _ => false,
        };
        if named {
            let name: String = ahead
                .by_ref()
                .take_while(|character| *character != '>')
                .collect();
            let is_word =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_word {
                return Err(
                    "the name of a group is empty, or has characters other than letters, digits and `_`".to_owned()
                );
            }
            self.rest = ahead;
            return self.open();
        }
        let unknown = || {
            "Go does not support lookahead, lookbehind or other groups that begin with `(?`, except flags and names"
                .to_owned()
        };
        let (mut negative, mut some) = (false, false);
        loop {
            match self.rest.next().ok_or("a `(` is never closed")? {
                'i' | 'm' | 's' | 'U' => some = true,
                '-' if !negative => (negative, some) = (true, false),
                ':' | ')' if negative && !some => return Err(unknown()),
                ':' => return self.open(),
                ')' => {
                    self.at.repeated = false;
                    return Ok(());
                }
                _ => return Err(unknown()),
            }
        }
    }

    /// Reads what follows a backslash outside a class.
    fn escaped(&mut self) -> Result<(), String> {
        match self.rest.peek() {
            Some('A' | 'b' | 'B' | 'z' | 'd' | 'D' | 's' | 'S' | 'w' | 'W') => {
                self.rest.next();
            }
            Some('Q') => {
                self.rest.next();
                return self.quoted();
            }
            _ => {
                self.character()?;
            }
        }
        self.atom(1);
        Ok(())
    }

    /// Reads literal characters up to `\E` or the end.
    fn quoted(&mut self) -> Result<(), String> {
        while let Some(character) = self.rest.next() {
            if character == '\\' && self.skip('E') {
                return Ok(());
            }
            self.atom(1);
        }
        Ok(())
    }

    /// Reads a character behind a backslash; `None` for a Unicode class.
    fn character(&mut self) -> Result<Option<u32>, String> {
        let character = self.rest.next().ok_or("a `\\` is at the end")?;
        let digit = |parser: &mut Self, radix: u32| {
            let value = parser
                .rest
                .peek()
                .and_then(|character| character.to_digit(radix))?;
            parser.rest.next();
            Some(value)
        };
        let code = match character {
            'p' | 'P' => return self.unicode().map(|()| None),
            '0'..='7' => {
                let first = u32::from(character) - u32::from('0');
                let second = digit(self, 8);
                if first > 0 && second.is_none() {
                    return Err("Go does not support back-references such as `\\1`".to_owned());
                }
                let two = second.map_or(first, |second| first * 8 + second);
                second
                    .and_then(|_| digit(self, 8))
                    .map_or(two, |third| two * 8 + third)
            }
            'x' if self.skip('{') => {
                let mut value = None;
                while let Some(next) = digit(self, 16) {
                    value = Some(
                        value
                            .unwrap_or(0_u32)
                            .saturating_mul(16)
                            .saturating_add(next),
                    );
                }
                let value = value.filter(|value| *value <= 0x10_ffff && self.skip('}'));
                value.ok_or("`\\x{` requires a hexadecimal number and `}`")?
            }
            'x' => {
                let high = digit(self, 16);
                let low = high.and_then(|_| digit(self, 16));
                high.zip(low)
                    .map(|(high, low)| high * 16 + low)
                    .ok_or("`\\x` requires two hexadecimal digits")?
            }
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => other.into(),
            other => return Err(format!("Go does not support `\\{other}`")),
        };
        Ok(Some(code))
    }

    /// Reads a Unicode class behind `\p` or `\P`.
    fn unicode(&mut self) -> Result<(), String> {
        let name: String = if self.skip('{') {
            let mut is_closed = false;
            let name = self.rest.by_ref().take_while(|character| {
                is_closed = *character == '}';
                !is_closed
            });
            let name: String = name.collect();
            if !is_closed {
                return Err("a `\\p{` is never closed".to_owned());
            }
            name
        } else {
            self.rest.next().into_iter().collect()
        };
        let name = name.strip_prefix('^').unwrap_or(&name);
        let is_known = UNICODE_CLASSES.contains(&name);
        if is_known {
            Ok(())
        } else {
            Err(format!("`\\p{{{name}}}` is not a known character class"))
        }
    }

    /// Reads a class behind `[`.
    fn class(&mut self) -> Result<(), String> {
        const OPEN: &str = "a `[` is never closed";
        self.skip('^');
        let mut is_first = true;
        loop {
            if self.rest.peek() == Some(&']') && !is_first {
                self.rest.next();
                return Ok(());
            }
            is_first = false;
            if self.posix()? {
                continue;
            }
            let Some(low) = self.in_class(OPEN)? else {
                continue;
            };
            let mut ahead = self.rest.clone();
            if ahead.next() == Some('-') && ahead.peek().is_some_and(|next| *next != ']') {
                self.rest = ahead;
                // Go refuses `[a-\d]`.
                let high = self
                    .in_class(OPEN)?
                    .ok_or("a range in `[…]` ends in a class")?;
                if high < low {
                    return Err("a range in `[…]` ends before it begins".to_owned());
                }
            }
        }
    }

    /// Reads `[:alpha:]` inside a class. Without `:]`, the bracket is a character.
    fn posix(&mut self) -> Result<bool, String> {
        let mut ahead = self.rest.clone();
        if (ahead.next(), ahead.next()) != (Some('['), Some(':')) {
            return Ok(false);
        }
        let mut name = String::new();
        while self.may_close {
            match ahead.next() {
                Some(':') if ahead.next_if_eq(&']').is_some() => break,
                Some(character) => name.push(character),
                None => self.may_close = false,
            }
        }
        if !self.may_close {
            return Ok(false);
        }
        if !POSIX_CLASSES.contains(&name.strip_prefix('^').unwrap_or(&name)) {
            return Err(format!("`[:{name}:]` is not a character class"));
        }
        self.rest = ahead;
        Ok(true)
    }

    /// Reads a character inside a class; `None` for a class such as `\d`.
    fn in_class(&mut self, open: &str) -> Result<Option<u32>, String> {
        match self.rest.next().ok_or(open)? {
            '\\' => {
                if self
                    .rest
                    .next_if(|next| matches!(next, 'd' | 'D' | 's' | 'S' | 'w' | 'W'))
                    .is_some()
                {
                    return Ok(None);
                }
                self.character()
            }
            other => Ok(Some(other.into())),
        }
    }
}

/// Reads a number as Go does in repetitions: without leading zeros, saturating.
fn number(characters: &mut Peekable<Chars<'_>>) -> Option<u32> {
    let mut digits = String::new();
    while let Some(digit) = characters.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    let leads_with_zero = digits.len() > 1 && digits.starts_with('0');
    (!digits.is_empty() && !leads_with_zero).then(|| digits.parse().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_go_compiles_is_taken() {
        for pattern in [
            "",
            "^istio-proxy$",
            r"\Amackerel-container-agent\z",
            "a|b|",
            "(?i)web-.*|(?P<n>db)(?<m>x)",
            "(?P<a>b)(?P<a>c)",
            "(?i-s:a)(?:b)(?)",
            "a{2,3}?b{4}c{5,}",
            // Not a repetition, so characters.
            "a{,2}{b}{x{}",
            "a{01}",
            "[]a]",
            "[^]]",
            "[a-]",
            "[-a]",
            r"[\d\-a-z[:alpha:][:^digit:]]",
            "[[:a]",
            "[[a]",
            r"\pL\p{Lu}\P{^Greek}",
            r"\x41\x{1F600}\012\0\.\_\-",
            r"\Qa**(\E+",
            r"\Qa(",
            "^*$+",
            "(a{10}){100}",
            "a*(?i)*",
            "()*",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn what_go_does_not_compile_is_not() {
        for (pattern, expected) in [
            ("(", "never closed"),
            ("a)", "has no `(`"),
            ("*a", "nothing before"),
            ("a|*", "nothing before"),
            ("(*)", "nothing before"),
            ("(?i)*", "nothing before"),
            ("{2}", "nothing before"),
            ("a**", "follows a repetition"),
            ("a*?+", "follows a repetition"),
            ("a++", "follows a repetition"),
            ("a{2}{3}", "follows a repetition"),
            ("a{1001}", "above 1000"),
            ("a{3,2}", "above 1000"),
            ("(a{100}){100}", "nested repetitions"),
            ("(?=a)", "lookahead"),
            ("(?<!a)", "lookahead"),
            ("(?>a)", "lookahead"),
            ("(?i-)", "lookahead"),
            ("(?x)a", "lookahead"),
            ("(?P<a-b>c)", "name"),
            ("[a", "never closed"),
            ("[", "never closed"),
            ("[]", "never closed"),
            ("[z-a]", "before it begins"),
            (r"[a-\d]", "ends in a class"),
            ("[[:letter:]]", "not a "),
            (r"\", "at the end"),
            (r"(a)\1", "back-references"),
            (r"\8", "does not support"),
            (r"\Z", "does not support"),
            (r"\é", "does not support"),
            (r"\C", "does not support"),
            (r"\xg", "two hexadecimal"),
            (r"\x{110000}", "hexadecimal"),
            (r"\p{Klingon}", "not a "),
            (r"\p{L", "never closed"),
        ] {
            let found = check(pattern);
            assert!(
                found.as_ref().is_err_and(|what| what.contains(expected)),
                "{pattern}: {found:?}"
            );
        }
        assert!(check(&"(".repeat(1001)).is_err_and(|what| what.contains("deep")));
    }
}
