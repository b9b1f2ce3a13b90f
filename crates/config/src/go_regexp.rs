//! Checks patterns as Go's `regexp` package does: the agent exits at its start on an invalid one.
//!
//! regex-syntax reads the pattern, as both syntaxes come from RE2. What only Rust has is refused after that. What only Go
//! has, such as `\Q…\E`, octal numbers and a `{` without a backslash, is refused too.

use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::ast::{
    self, AssertionKind, Ast, ClassSetBinaryOp, ClassSetItem, ClassUnicodeKind, Flag, Flags,
    FlagsItemKind, GroupKind, HexLiteralKind, Literal, LiteralKind, Repetition, RepetitionKind,
    RepetitionRange, Visitor,
};

/// Go's limit on repetitions, multiplied through nested groups.
const MAX_REPEAT: u32 = 1000;

/// The tree of a pattern takes hundreds of bytes a character.
const MAX_LENGTH: usize = 4096;

/// Unicode classes known to every Go version that the agent was built with, without rare scripts.
const UNICODE_CLASSES: [&str; 44] = [
    "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N",
    "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So",
    "Z", "Zl", "Zp", "Zs", "Any", "Common", "Latin", "Greek", "Cyrillic", "Han", "Hiragana",
    "Katakana",
];

/// Checks a pattern; the error says what is wrong with it.
pub fn check(pattern: &str) -> Result<(), String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("the pattern is longer than {MAX_LENGTH} bytes"));
    }
    let ast = ParserBuilder::new()
        .build()
        .parse(pattern)
        .map_err(|error| error.kind().to_string())?;
    ast::visit(&ast, GoSyntax::default())
}

/// Refuses what Go's syntax lacks.
#[derive(Default)]
struct GoSyntax {
    /// The counts of the enclosing repetitions.
    counts: Vec<u32>,
}

impl Visitor for GoSyntax {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), String> {
        match ast {
            Ast::Flags(set) => flags(&set.flags),
            Ast::Group(group) => match &group.kind {
                GroupKind::CaptureName { name, .. } => group_name(&name.name),
                GroupKind::NonCapturing(set) => flags(set),
                GroupKind::CaptureIndex(_) => Ok(()),
            },
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine
                | AssertionKind::EndLine
                | AssertionKind::StartText
                | AssertionKind::EndText
                | AssertionKind::WordBoundary
                | AssertionKind::NotWordBoundary => Ok(()),
                _ => Err("`\\<`, `\\>` and `\\b{…}` have another meaning in Go".to_owned()),
            },
            Ast::Literal(character) => literal(character),
            Ast::ClassUnicode(class) => unicode_class(&class.kind),
            Ast::Repetition(repetition) => self.enter(repetition),
            _ => Ok(()),
        }
    }

    fn visit_post(&mut self, ast: &Ast) -> Result<(), String> {
        if matches!(ast, Ast::Repetition(_)) {
            self.counts.pop();
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), String> {
        match item {
            ClassSetItem::Literal(character) => literal(character),
            ClassSetItem::Range(range) => literal(&range.start).and(literal(&range.end)),
            ClassSetItem::Unicode(class) => unicode_class(&class.kind),
            ClassSetItem::Bracketed(_) => Err("a `[` inside `[…]` requires a backslash".to_owned()),
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ClassSetBinaryOp) -> Result<(), String> {
        Err("Go has no `&&`, `--` and `~~` inside `[…]`".to_owned())
    }
}

impl GoSyntax {
    fn enter(&mut self, repetition: &Repetition) -> Result<(), String> {
        if matches!(*repetition.ast, Ast::Repetition(_)) {
            return Err("a repetition follows a repetition".to_owned());
        }
        let count = match &repetition.op.kind {
            RepetitionKind::Range(
                RepetitionRange::Exactly(count) | RepetitionRange::AtLeast(count),
            ) => *count,
            RepetitionKind::Range(RepetitionRange::Bounded(_, count)) => *count,
            _ => 1,
        };
        let enclosing = self.counts.last().copied().unwrap_or(1);
        let count = count.max(1).saturating_mul(enclosing);
        if count > MAX_REPEAT {
            return Err(format!(
                "a repetition, multiplied by those around it, is above {MAX_REPEAT}"
            ));
        }
        self.counts.push(count);
        Ok(())
    }
}

fn flags(flags: &Flags) -> Result<(), String> {
    let is_foreign = |kind: &FlagsItemKind| {
        use FlagsItemKind::Flag as Is;
        matches!(
            kind,
            Is(Flag::Unicode | Flag::CRLF | Flag::IgnoreWhitespace)
        )
    };
    if flags.items.iter().any(|item| is_foreign(&item.kind)) {
        return Err("Go has only the flags `i`, `m`, `s` and `U`".to_owned());
    }
    Ok(())
}

fn group_name(name: &str) -> Result<(), String> {
    if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err("the name of a group has characters other than letters, digits and `_`".to_owned())
}

fn literal(literal: &Literal) -> Result<(), String> {
    let is_foreign = match &literal.kind {
        LiteralKind::HexFixed(kind) | LiteralKind::HexBrace(kind) => *kind != HexLiteralKind::X,
        _ => false,
    };
    if is_foreign {
        return Err("Go does not support `\\u` and `\\U`; use `\\x{…}`".to_owned());
    }
    Ok(())
}

fn unicode_class(class: &ClassUnicodeKind) -> Result<(), String> {
    let name = match class {
        ClassUnicodeKind::OneLetter(letter) => letter.to_string(),
        ClassUnicodeKind::Named(name) => name.clone(),
        ClassUnicodeKind::NamedValue { name, value, .. } => format!("{name}={value}"),
    };
    if UNICODE_CLASSES.contains(&&*name) {
        return Ok(());
    }
    Err(format!("`\\p{{{name}}}` is not a known character class"))
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
            "(?i-s:a)(?:b)",
            "a{2,3}?b{4}c{5,}",
            "[]a]",
            "[^]]",
            "[a-]",
            "[-a]",
            r"[\d\-a-z[:alpha:][:^digit:]]",
            r"\pL\p{Lu}\P{Greek}",
            r"\x41\x{1F600}\.\_\-\/",
            "^*$+",
            "(a{10}){100}",
            "()*",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }

    #[test]
    fn what_go_does_not_compile_is_not() {
        for (pattern, expected) in [
            ("(", "unclosed group"),
            ("a)", "unopened group"),
            ("*a", "missing expression"),
            ("a|*", "missing expression"),
            ("(*)", "missing expression"),
            ("(?i)*", "missing expression"),
            ("{2}", "missing expression"),
            ("a**", "follows a repetition"),
            ("a*?+", "follows a repetition"),
            ("a++", "follows a repetition"),
            ("a{2}{3}", "follows a repetition"),
            ("a{1001}", "above 1000"),
            ("a{3,2}", "invalid repetition count"),
            ("(a{100}){100}", "above 1000"),
            ("(?=a)", "look-around"),
            ("(?<!a)", "look-around"),
            ("(?>a)", "unrecognized flag"),
            ("(?i-)", "negation"),
            ("(?x)a", "only the flags"),
            ("(?u:a)", "only the flags"),
            ("(?P<a-b>c)", "invalid capture group"),
            ("(?P<a.b>c)", "letters, digits"),
            ("[a", "unclosed character class"),
            ("[", "unclosed character class"),
            ("[]", "unclosed character class"),
            ("[z-a]", "invalid character class range"),
            (r"[a-\d]", "invalid range boundary"),
            ("[[:letter:]]", "backslash"),
            ("[a--b]", "inside"),
            (r"\", "incomplete escape"),
            (r"(a)\1", "backreferences"),
            (r"\8", "backreferences"),
            (r"\Z", "unrecognized escape"),
            (r"\é", "unrecognized escape"),
            (r"\C", "unrecognized escape"),
            (r"\<a", "another meaning"),
            (r"\xg", "invalid hexadecimal digit"),
            (r"\x{110000}", "not a Unicode scalar"),
            (r"\u0041", r"use `\x{"),
            (r"\p{Klingon}", "not a known character class"),
            (r"\p{L", "incomplete escape"),
        ] {
            let found = check(pattern);
            assert!(
                found.as_ref().is_err_and(|what| what.contains(expected)),
                "{pattern}: {found:?}"
            );
        }
        assert!(check(&"(".repeat(1001)).is_err());
        assert!(check(&"a".repeat(5000)).is_err_and(|what| what.contains("longer")));
    }
}
