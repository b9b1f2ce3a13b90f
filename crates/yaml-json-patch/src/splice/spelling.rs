//! The spelling of the elements of a collection: their quotes, and brackets on one line.

use crate::quote::{Context, quote, single_quoted};
use crate::tree::{Kind, NodeId, Style, Tree};
use crate::value::{ScalarValue, scalar_value};

/// The elements of a collection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Siblings {
    pub(crate) node: NodeId,
    /// A value that goes, and whose style does not count.
    pub(crate) except: Option<NodeId>,
}

/// The quotes of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Quotes {
    /// The style of those in quotes.
    style: Option<Style>,
    /// Also where none are needed.
    always: bool,
    /// Others have no quotes.
    some_plain: bool,
}

impl Quotes {
    /// The quotes of the keys of a mapping, or of its values, or of the items of a list. All items of a list have quotes as soon as
    /// all of those there have some; strings of a mapping where two have some, one of them without need, and all others too.
    fn of(tree: &Tree<'_>, strings: impl Iterator<Item = NodeId>, siblings: Siblings) -> Self {
        let mut needless = tree.kind(siblings.node) == Kind::Sequence;
        let (mut style, mut count, mut plain) = (None, usize::from(needless), false);
        for node in strings.filter(|node| tree.kind(*node) == Kind::Scalar) {
            match tree.style(node) {
                own @ (Style::SingleQuoted | Style::DoubleQuoted)
                    if Some(node) != siblings.except =>
                {
                    style = Some(own);
                    count += 1;
                    let is_needless = |text: &str| quote(text, Context::Block) == text;
                    needless = needless || tree.scalar(node).is_some_and(|text| is_needless(&text));
                }
                // One that goes counts, too: plain stays plain.
                Style::Plain => {
                    plain = plain || matches!(scalar_value(tree, node), Ok(ScalarValue::Str(_)));
                }
                _ => {}
            }
        }
        Self {
            style,
            always: needless && count > 1 && !plain,
            some_plain: plain,
        }
    }

    /// The same quotes, also where none are needed, unless another string has none.
    pub(super) fn everywhere(self) -> Self {
        Self {
            always: !self.some_plain,
            ..self
        }
    }

    pub(super) fn of_values(tree: &Tree<'_>, siblings: Siblings) -> Self {
        Self::of(tree, tree.values(siblings.node), siblings)
    }

    /// The string in the quotes of the others; none if it needs none, or cannot have them.
    pub(super) fn write(self, text: &str, place: Context) -> Option<String> {
        let needs = quote(text, place) != text;
        match self.style.filter(|_| needs || self.always)? {
            Style::SingleQuoted => single_quoted(text),
            // A text with `"` or `\` that can stand without quotes does: escapes are hard to read.
            _ if !needs && text.contains(['"', '\\']) => None,
            _ => Some(quote(text, Context::Json).into_owned()),
        }
    }

    /// True if there is a string in quotes.
    pub(super) fn are_shown(self) -> bool {
        self.style.is_some()
    }
}

/// The spelling of the elements of a collection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spelling {
    pub(super) keys: Quotes,
    /// All keys are integers without quotes: ports, or the codes of responses.
    pub(super) integer_keys: bool,
    pub(super) values: Quotes,
    /// The last of the collections in it, if all of them are of one kind, and in brackets on one line: all items of a list, or two
    /// members and more.
    pub(super) in_brackets: Option<NodeId>,
}

impl Spelling {
    pub(super) fn of(tree: &Tree<'_>, siblings: Siblings) -> Self {
        let keys = || tree.entries(siblings.node).map(|(key, _)| key);
        let is_integer = |key| matches!(scalar_value(tree, key), Ok(ScalarValue::Int(_)));
        Self {
            keys: Quotes::of(tree, keys(), siblings),
            integer_keys: keys().all(is_integer),
            values: Quotes::of_values(tree, siblings),
            in_brackets: in_brackets(tree, siblings),
        }
    }
}

fn in_brackets(tree: &Tree<'_>, siblings: Siblings) -> Option<NodeId> {
    let Siblings { node, except } = siblings;
    let is_list = tree.kind(node) == Kind::Sequence;
    let has_content = |value: NodeId| tree.children(value).next().is_some();
    let (mut last, mut count) = (None, 0);
    for value in tree.values(node) {
        if Some(value) == except || !(is_list || has_content(value)) {
            continue;
        }
        let kind = tree.kind(value);
        let is_line = tree.style(value) == Style::Flow && !tree.raw(value).contains('\n');
        let is_alike = last.is_none_or(|last| tree.kind(last) == kind);
        if !(has_content(value) && is_line && is_alike) {
            return None;
        }
        (last, count) = (Some(value), count + 1);
    }
    last.filter(|_| is_list || count > 1)
}
