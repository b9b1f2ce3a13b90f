//! The document as it will be: the old tree, with changes laid over it along the paths that the patch touches.

use super::error::{ErrorKind, SpliceError};
use super::members::{Key, MemberList, PatchedMember};
use super::operation::AnchorPolicy;
use super::operation::NullSource;
use super::reading::{Source, element};
use crate::tree::{Kind, NodeId, Tree};
use json_patch::jsonptr::Token;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// A node as it will be.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Overlay {
    /// A document without a node, or a member that was removed.
    #[default]
    Nothing,
    /// A node of the text, unchanged.
    Old(NodeId),
    /// A mapping of the text, something in it changed. Old members keep their order.
    Map {
        node: NodeId,
        members: MemberList<Overlay>,
    },
    /// A sequence of the text, something in it changed. Of many items, each may come or go at the front.
    Seq {
        node: NodeId,
        items: VecDeque<Overlay>,
    },
    /// A value of the patch.
    New(Arc<Value>),
    /// A value that `move` or `copy` brings from another place of the document. Its text comes along where it can stand.
    Carried { value: Arc<Value>, source: Source },
    /// A null with its text.
    Null(NullSource),
}

/// A member of a mapping as it will be.
pub(crate) type MemberOverlay = PatchedMember<Overlay>;

/// The document as it is.
pub(crate) fn unchanged(tree: &Tree<'_>) -> Overlay {
    tree.root().map_or(Overlay::Nothing, Overlay::Old)
}

/// Equal as JSON, numbers by value: 1 is 1.0.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i128(), b.as_i128()) {
            (Some(int), None) => b.as_f64().is_some_and(|float| is_whole(float, int)),
            (None, Some(int)) => a.as_f64().is_some_and(|float| is_whole(float, int)),
            _ => a == b,
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => left == right,
    }
}

/// True for a float, such as 1e3, that is this integer. Most integers beyond 2^53 have no float of their own, so that the
/// integers are compared.
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is cut off is no 64-bit integer"
)]
pub(crate) fn is_whole(float: f64, int: i128) -> bool {
    float.fract() == 0.0 && float as i128 == int
}

impl Overlay {
    /// Makes the members or items of an old collection accessible, when it may be changed.
    pub(crate) fn open(
        &mut self,
        tree: &Tree<'_>,
        policy: AnchorPolicy,
    ) -> Result<(), SpliceError> {
        let Overlay::Old(node) = *self else {
            return Ok(());
        };
        let at = tree.outer_start(node);
        let opened = match tree.kind(node) {
            Kind::Alias => return Err(ErrorKind::Alias.at(at)),
            Kind::Scalar => return Ok(()),
            Kind::Mapping => {
                let member = |(key, value)| PatchedMember {
                    key: Key::Old(key),
                    value: Overlay::Old(value),
                };
                // Counted first, so that the list need not grow.
                let mut members = Vec::with_capacity(tree.entries(node).count());
                members.extend(tree.entries(node).map(member));
                Overlay::Map {
                    node,
                    members: MemberList::new(members),
                }
            }
            Kind::Sequence => Overlay::Seq {
                node,
                items: tree.items(node).map(Overlay::Old).collect(),
            },
        };
        // A change here would show at each alias, which no operation has named.
        if tree.is_aliased(node) && policy == AnchorPolicy::Refuse {
            return Err(ErrorKind::Anchor.at(at));
        }
        if tree.is_flow_pair(node) {
            return Err(ErrorKind::FlowPair.at(at));
        }
        *self = opened;
        Ok(())
    }

    /// The member or item that a token names, of a collection of the text; it may be known to lead to a node of the text.
    pub(crate) fn child(
        &mut self,
        tree: &Tree<'_>,
        token: &Token<'_>,
        to: Option<NodeId>,
    ) -> Result<Option<&mut Overlay>, SpliceError> {
        Ok(match self {
            Overlay::Map { node, members } => {
                let leading = |to| {
                    let leads = |value: &Overlay| value.node().is_some_and(|node| node <= to);
                    members.leading(tree, leads)
                };
                let at = match to.and_then(leading) {
                    Some(at) => Some(at),
                    None => members.position(tree, *node, &token.decoded())?,
                };
                at.and_then(|at| members.get_mut(at))
                    .map(|member| &mut member.value)
            }
            Overlay::Seq { items, .. } => {
                element(token, items.len()).and_then(|at| items.get_mut(at))
            }
            _ => None,
        })
    }

    /// The places of the values that `move` and `copy` have brought and that still are what they were.
    pub(crate) fn carried(&self) -> Vec<Source> {
        match self {
            Overlay::Carried { source, .. } => vec![*source],
            Overlay::Map { members, .. } => members
                .iter()
                .flat_map(|member| member.value.carried())
                .collect(),
            Overlay::Seq { items, .. } => items.iter().flat_map(Overlay::carried).collect(),
            _ => Vec::new(),
        }
    }

    /// The node of the text that stays here, unchanged or changed inside.
    pub(crate) fn node(&self) -> Option<NodeId> {
        match self {
            Overlay::Old(node) | Overlay::Map { node, .. } | Overlay::Seq { node, .. } => {
                Some(*node)
            }
            _ => None,
        }
    }

    /// True for a scalar of the patch.
    pub(super) fn is_new_scalar(&self) -> bool {
        matches!(self, Overlay::New(value) if !value.is_object() && !value.is_array())
    }
}
