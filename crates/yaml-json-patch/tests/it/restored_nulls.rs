//! A law of nulls, over random documents: see [`crate::properties`].

use crate::generator::{ChoiceTape, document};
use crate::properties::{patch, places, read_json, tape};
use crate::splice::visible;
use proptest::prelude::*;
use serde_json::json;
use yaml_json_patch::json_patch::jsonptr::PointerBuf;
use yaml_json_patch::{
    self as yaml, Cache, Error, Kind, NodeId, Operation, Tree, apply, edit, null_source, splice,
};

/// A null that gave way to a collection comes back as it was written.
fn check_null(layout: &[u8], choices: &[u8]) -> Result<(), TestCaseError> {
    let text = document(&mut ChoiceTape::new(layout));
    let Some(value) = read_json(&text) else {
        return Ok(());
    };
    let mut tape = ChoiceTape::new(choices);
    let mut found = Vec::new();
    places(&value, "", &mut found);
    found.retain(|(path, value)| value.is_null() && !path.is_empty());
    if found.is_empty() {
        return Ok(());
    }
    let path = found[tape.pick(found.len())].0.clone();
    let tree = yaml::read(&text).unwrap();
    let Some(node) = node_at(&tree, &path) else {
        return Ok(());
    };
    // An item's blanks at the end of its line are not kept.
    let parent = path
        .rsplit_once('/')
        .and_then(|(parent, _)| node_at(&tree, parent));
    let Some(parent) = parent.filter(|parent| tree.kind(*parent) == Kind::Mapping) else {
        return Ok(());
    };
    let source = null_source(&tree, parent, node);
    let value = if tape.pick(2) == 0 {
        json!({"a": {"b": [1, {}]}})
    } else {
        json!([{"c": "d", "e": 5}])
    };
    let there = match apply(
        &text,
        &patch(vec![json!({"op": "replace", "path": path, "value": value})]),
    ) {
        Ok(there) => there,
        Err(Error::Splice(_)) => return Ok(()),
        Err(error) => {
            return Err(TestCaseError::fail(format!(
                "{error:?}: {path}\n{}",
                visible(&text)
            )));
        }
    };
    let filled = yaml::read(&there).unwrap();
    let restore = Operation::RestoreNull {
        path: PointerBuf::parse(&path).unwrap(),
        source,
    };
    let shown = || format!("{path}\n{}\n{}", visible(&text), visible(&there));
    let back = match splice(&filled, vec![restore], &Cache::default()) {
        Ok(spliced) => edit::apply(&there, &spliced.edits),
        Err(error) => return Err(TestCaseError::fail(format!("{error:?}: {}", shown()))),
    };
    prop_assert_eq!(visible(&back), visible(&text), "{}", shown());
    Ok(())
}

fn node_at(tree: &Tree<'_>, path: &str) -> Option<NodeId> {
    let mut at = tree.root()?;
    for token in path.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        at = match tree.kind(at) {
            Kind::Mapping => tree.get(at, &name)?,
            Kind::Sequence => tree.items(at).nth(name.parse().ok()?)?,
            // Behind an alias, nothing is edited.
            _ => return None,
        };
    }
    Some(at)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_null_that_gave_way_comes_back_as_it_was_written(layout in tape(), choices in tape()) {
        check_null(&layout, &choices)?;
    }
}
