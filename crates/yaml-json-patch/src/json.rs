//! A document as JSON, the way sigs.k8s.io/yaml hands it to Kubernetes.

use crate::tag;
use crate::tree::{Kind, NodeId, Style, Tree, YamlError};
use crate::value::{ScalarValue, scalar_value};
use serde_json::{Map, Number, Value};

/// Converts the node and everything below it.
///
/// - keys that are numbers or booleans become strings; of duplicate keys the last one wins
/// - aliases and merge keys (`<<`) are expanded; a merge overrides the keys before it, as in go-yaml
///
/// # Errors
/// - a value that does not match its tag, infinity or not-a-number
/// - a key that is null, a collection, or an integer beyond 2^63 - 1
/// - a merge key whose value is not a mapping or a list of mappings
/// - more than 1,000 levels, once aliases are expanded
/// - an alias inside its own anchor, or more aliases than a document of its size can need (go-yaml's bound)
pub fn to_json(tree: &Tree<'_>, id: NodeId) -> Result<Value, YamlError> {
    Reader {
        tree,
        decoded: 0,
        aliased: 0,
        alias_depth: 0,
        depth: 0,
        expanding: Vec::new(),
    }
    .value(id)
}

/// True for JSON as other programs read it.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok()
}

/// Returns false for a document that [`to_json`] may refuse, as far as the first bytes of its plain scalars tell: hardly any is.
#[must_use]
pub fn is_plainly_json(tree: &Tree<'_>) -> bool {
    tree.properties.is_empty() && tree.nodes().all(|node| is_plain_node(tree, node))
}

/// False for what may be infinite or not a number, and for a mapping with a key that may be null, a merge key, a collection, or too
/// large a number.
fn is_plain_node(tree: &Tree<'_>, node: NodeId) -> bool {
    let written = |node: NodeId| {
        tree.text
            .as_bytes()
            .get(tree.span(node))
            .unwrap_or_default()
    };
    match tree.kind(node) {
        Kind::Scalar if tree.style(node) == Style::Plain => !matches!(
            written(node),
            [b'.', b'i' | b'I' | b'n' | b'N', ..] | [b'-' | b'+', b'.', ..]
        ),
        Kind::Scalar | Kind::Sequence => true,
        Kind::Alias => false,
        Kind::Mapping => tree.entries(node).all(|(key, _)| {
            tree.kind(key) == Kind::Scalar
                && match written(key) {
                    _ if tree.style(key) != Style::Plain => true,
                    [] | [b'~' | b'<', ..] | [b'n' | b'N', b'u' | b'U', _, _] => false,
                    number @ ([b'0'..=b'9', ..] | [b'+', ..]) => {
                        number.len() < "0x8000000000000000".len()
                    }
                    _ => true,
                }
        }),
    }
}

/// The text itself nests 255 levels at most, but `a: &a [[[]]]`, `b: &b [[[*a]]]` … may go on for ever.
const MAX_EXPANDED_DEPTH: u32 = 1000;

const TOO_DEEP: &str = "the document is nested too deeply when its aliases are expanded";

struct Reader<'r, 't> {
    tree: &'r Tree<'t>,
    decoded: u32,
    aliased: u32,
    alias_depth: u32,
    /// Levels above the node in hand, those that aliases bring included.
    depth: u32,
    /// The aliases that are being expanded.
    expanding: Vec<NodeId>,
}

impl Reader<'_, '_> {
    /// go-yaml's bound on what aliases may multiply: 99 % of the nodes of a small document, 10 % of those of a large one.
    fn count(&mut self, id: NodeId) -> Result<(), YamlError> {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        self.decoded = self.decoded.saturating_add(1);
        if self.alias_depth > 0 {
            self.aliased = self.aliased.saturating_add(1);
        }
        let decoded = f64::from(self.decoded);
        let allowed = 0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        if self.aliased > 100 && self.decoded > 1000 && f64::from(self.aliased) / decoded > allowed
        {
            return Err(error(
                self.tree,
                id,
                "the aliases of the document expand to too many values",
            ));
        }
        Ok(())
    }

    fn value(&mut self, id: NodeId) -> Result<Value, YamlError> {
        self.count(id)?;
        self.depth += 1;
        if self.depth > MAX_EXPANDED_DEPTH {
            return Err(error(self.tree, id, TOO_DEEP));
        }
        let value = self.node(id);
        self.depth -= 1;
        value
    }

    fn node(&mut self, id: NodeId) -> Result<Value, YamlError> {
        match self.tree.kind(id) {
            Kind::Alias => self.expand(id, Self::value),
            Kind::Scalar => scalar(self.tree, id),
            Kind::Sequence => self.tree.items(id).map(|item| self.value(item)).collect(),
            Kind::Mapping => {
                let mut map = Map::new();
                self.fill(id, &mut map)?;
                Ok(Value::Object(map))
            }
        }
    }

    fn expand<T>(
        &mut self,
        id: NodeId,
        read: impl FnOnce(&mut Self, NodeId) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        if self.expanding.contains(&id) {
            return Err(error(self.tree, id, "the alias is inside its own anchor"));
        }
        // Merge keys lead here without passing through `value`.
        if self.expanding.len() >= MAX_EXPANDED_DEPTH as usize {
            return Err(error(self.tree, id, TOO_DEEP));
        }
        self.expanding.push(id);
        self.alias_depth += 1;
        let result = read(self, self.tree.alias_target(id));
        self.alias_depth -= 1;
        self.expanding.pop();
        result
    }

    fn fill(&mut self, mapping: NodeId, map: &mut Map<String, Value>) -> Result<(), YamlError> {
        for (key, value) in self.tree.entries(mapping) {
            if is_merge_key(self.tree, key) {
                self.merge(value, map)?;
                continue;
            }
            self.count(key)?;
            let name = self::key(self.tree, key)?;
            map.insert(name, self.value(value)?);
        }
        Ok(())
    }

    fn merge(&mut self, value: NodeId, map: &mut Map<String, Value>) -> Result<(), YamlError> {
        let sources: Vec<NodeId> = match self.tree.kind(value) {
            Kind::Sequence => self.tree.items(value).collect(),
            _ => vec![value],
        };
        // The first mapping of a list has precedence, so it comes last.
        for source in sources.into_iter().rev() {
            self.count(source)?;
            if self.tree.kind(self.tree.alias_target(source)) != Kind::Mapping {
                return Err(error(
                    self.tree,
                    source,
                    "`<<` requires a mapping or a list of mappings",
                ));
            }
            if self.tree.kind(source) == Kind::Alias {
                self.expand(source, |reader, target| {
                    reader.count(target)?;
                    reader.fill(target, map)
                })?;
            } else {
                self.fill(source, map)?;
            }
        }
        Ok(())
    }
}

fn error(tree: &Tree<'_>, id: NodeId, message: &str) -> YamlError {
    YamlError::new(tree.span(id).start, message.to_owned())
}

/// A scalar that is no key.
fn scalar(tree: &Tree<'_>, id: NodeId) -> Result<Value, YamlError> {
    match scalar_value(tree, id)? {
        ScalarValue::Null => Ok(Value::Null),
        ScalarValue::Bool(value) => Ok(Value::Bool(value)),
        ScalarValue::Int(value) => Ok(integer(value)),
        ScalarValue::Float(value) => {
            float(value).ok_or_else(|| error(tree, id, "JSON has no infinity and no not-a-number"))
        }
        ScalarValue::Str(value) => Ok(Value::String(value.into_owned())),
    }
}

/// A key that is no merge key.
fn key(tree: &Tree<'_>, key: NodeId) -> Result<String, YamlError> {
    let target = tree.alias_target(key);
    if tree.kind(target) != Kind::Scalar {
        return Err(error(tree, key, "a key cannot be a mapping or a list"));
    }
    match scalar_value(tree, target)? {
        ScalarValue::Null => Err(error(tree, key, "a key cannot be null")),
        ScalarValue::Float(value) => Ok(float_key(value)),
        value => value
            .into_name()
            .ok_or_else(|| error(tree, key, "a key cannot be this large a number")),
    }
}

/// True for the key `<<` that go-yaml takes for a merge.
#[must_use]
#[inline]
pub fn is_merge_key(tree: &Tree<'_>, key: NodeId) -> bool {
    // Hardly any key has.
    if tree.has_properties(key) {
        return is_merge_with_properties(tree, key);
    }
    tree.style(key) == Style::Plain && tree.span(key).len() == "<<".len() && tree.is_key(key, "<<")
}

fn is_merge_with_properties(tree: &Tree<'_>, key: NodeId) -> bool {
    if tree.kind(key) != Kind::Scalar || !tree.is_key(key, "<<") {
        return false;
    }
    match tag::of(tree, key) {
        None => tree.style(key) == Style::Plain,
        // The lone `!` makes go-yaml forget the quotes.
        Some(full) => full == "!" || full.strip_prefix(tag::CORE) == Some("merge"),
    }
}

fn integer(value: i128) -> Value {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Value::from(value),
        (_, Ok(value)) => Value::from(value),
        _ => Value::Null,
    }
}

/// Go prints a whole float below 1e21 without a point, in the shortest digits that read back: 1e3 reaches Kubernetes as
/// 1000. Rust prints it the same way.
fn float(value: f64) -> Option<Value> {
    if value.fract() == 0.0
        && value.abs() < 1e21
        && !(value == 0.0 && value.is_sign_negative())
        && let Ok(whole @ Value::Number(_)) = value.to_string().parse().map(integer)
    {
        return Some(whole);
    }
    Number::from_f64(value).map(Value::Number)
}

/// Go's `strconv.FormatFloat(value, 'g', -1, 32)`, with YAML's names for what is not finite.
fn float_key(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "so does sigs.k8s.io/yaml")]
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    // `{:e}` has the shortest digits that read back, and the exponent: 1.5e6
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Result<String, YamlError> {
        let tree = crate::read::read_complete(text)?;
        to_json(&tree, tree.root().unwrap()).map(|value| value.to_string())
    }

    /// Each line was read by sigs.k8s.io/yaml 1.6.0.
    #[test]
    fn documents_are_what_kubernetes_reads() {
        let cases = [
            ("a: 1\na: 2\n", r#"{"a":2}"#),
            (
                "on: 1\n1: b\n1.50: c\n1e6: d\n.inf: e\n1e-5: f\n",
                r#"{"true":1,"1":"b","1.5":"c","1e+06":"d",".inf":"e","1e-05":"f"}"#,
            ),
            (
                "[1e3, 1.5, 1e20, 0.0, 9223372036854775808.0]",
                r#"[1000,1.5,1e+20,0,9223372036854776000]"#,
            ),
            (
                "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n",
                r#"{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}"#,
            ),
            ("d:\n  b: 9\n  <<: {b: 1}\n", r#"{"d":{"b":1}}"#),
            (
                "d:\n  <<: [{q: 1}, {q: 2, r: 3}]\n",
                r#"{"d":{"q":1,"r":3}}"#,
            ),
            ("d:\n  \"<<\": {q: 1}\n", r#"{"d":{"<<":{"q":1}}}"#),
            ("&k a: &v b\nc: *v\n*k : d\n", r#"{"a":"d","c":"b"}"#),
            ("a: !!binary /w==\n", "{\"a\":\"\u{fffd}\"}"),
            ("a: |\n  x", r#"{"a":"x"}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(json(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_kubernetes_refuses() {
        let cases = [
            ("a: .nan\n", "JSON has no infinity and no not-a-number"),
            ("~: b\n", "a key cannot be null"),
            ("? [a]\n: b\n", "a key cannot be a mapping or a list"),
            (
                "18446744073709551615: b\n",
                "a key cannot be this large a number",
            ),
            (
                "d:\n  <<: 1\n",
                "`<<` requires a mapping or a list of mappings",
            ),
            ("a: &x [*x]\n", "the alias is inside its own anchor"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                json(text).map_err(|error| error.message),
                Err(expected.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_plainly_json_is_not_refused() {
        let mut plain = 0;
        for word in [
            "",
            "~",
            "null",
            "Null",
            "name",
            "<<",
            "=",
            ".inf",
            "-.Inf",
            "+.INF",
            ".nan",
            ".x",
            "-",
            "-.5",
            "1",
            "1e400",
            "9223372036854775807",
            "9223372036854775808",
            "+18446744073709551615",
            "0x8000000000000000",
            "01000000000000000000000",
            "0b1",
            "'~'",
            "[]",
            "{}",
            "[a]",
            "{a: b}",
            "a",
            "on",
            "--flag",
            "/x",
            "_",
            "é",
            "!!str a",
            "&x a",
            "*x",
            "2001-01-01",
            "1:30",
        ] {
            for text in [
                "{}: 1\n",
                "{} : 1\n",
                "a: {}\n",
                "a: {} # c\n",
                "- {}\n- 1\n",
                "a: [{}]\n",
                "a: [1, {} ]\n",
                "a: [{} : 1]\n",
                "a: {{} : 1}\n",
                "a: {{}\n  : 1}\n",
                "a: {{} # c\n  : 1}\n",
                "a: {b: {}}\n",
                "a: {b: {}, c: d}\n",
                "? {}\n: 1\n",
                "a: {{}}\n",
                "a: {{}, b: 1}\n",
                "? a\n: {}\n",
                "a:\n  {}: {}\n",
                "{}\n",
            ] {
                let text = text.replace("{}", word);
                if let Ok(tree) = crate::read(&text)
                    && let Some(root) = tree.root()
                    && is_plainly_json(&tree)
                {
                    assert_eq!(to_json(&tree, root).err(), None, "{text:?}");
                    plain += 1;
                }
            }
        }
        assert!(plain > 200, "{plain}");
    }

    #[test]
    fn a_billion_laughs_end_early() {
        let mut text = "l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..12 {
            let below = format!("*l{}", level - 1);
            text.push_str(&format!(
                "l{level}: &l{level} [{}]\n",
                [below.as_str(); 9].join(", ")
            ));
        }
        let message = json(&text).map_err(|error| error.message);
        assert_eq!(
            message,
            Err("the aliases of the document expand to too many values".to_owned())
        );
    }
}
