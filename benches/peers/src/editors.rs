//! The editors, and how each of them is asked for an operation of JSON Patch.

use crate::edit::Edit;
use serde_json::Value;
use std::str::FromStr as _;
use yaml_edit::{AsYaml, YamlFile, YamlNode};
use yaml_json_patch::apply;
use yaml_json_patch::json_patch::PatchOperation;
use yaml_json_patch::json_patch::jsonptr::{Pointer, Token};

/// An editor of YAML.
pub(crate) struct Editor {
    pub(crate) name: &'static str,
    pub(crate) apply: fn(&Edit) -> Result<String, Refusal>,
}

/// No text.
pub(crate) enum Refusal {
    Error(String),
    /// The editor cannot be asked for such an operation.
    HasNoSuchEdit,
}

pub(crate) const EDITORS: [Editor; 3] = [
    Editor {
        name: "yaml-json-patch",
        apply: by_yaml_json_patch,
    },
    Editor {
        name: "yaml-edit",
        apply: by_yaml_edit,
    },
    Editor {
        name: "yamlpatch",
        apply: by_yamlpatch,
    },
];

fn error(error: impl ToString) -> Refusal {
    Refusal::Error(error.to_string())
}

fn by_yaml_json_patch(edit: &Edit) -> Result<String, Refusal> {
    apply(&edit.text, &edit.patch).map_err(error)
}

fn by_yaml_edit(edit: &Edit) -> Result<String, Refusal> {
    let file = YamlFile::from_str(&edit.text).map_err(error)?;
    let document = file.document().ok_or(error("there is no document"))?;
    let not_found = || error("the place is not found");
    for operation in &edit.patch.0 {
        let path = operation.path();
        let (parent, last) = path.split_back().ok_or(Refusal::HasNoSuchEdit)?;
        let mut node = match (document.as_mapping(), document.as_sequence()) {
            (Some(mapping), _) => YamlNode::Mapping(mapping),
            (_, Some(sequence)) => YamlNode::Sequence(sequence),
            _ => return Err(not_found()),
        };
        for token in parent.tokens() {
            let token = token.decoded();
            let next = match token.parse() {
                Ok(index) if node.as_sequence().is_some() => node.get_item(index),
                _ => node.get(&*token),
            };
            node = next.ok_or_else(not_found)?;
        }
        let last = last.decoded();
        match (operation, node) {
            (PatchOperation::Add(add), YamlNode::Sequence(list)) if last == "-" => {
                with_value(&add.value, |value| list.push(value))?;
            }
            (PatchOperation::Add(add), YamlNode::Sequence(list)) => {
                let index = last.parse().map_err(error)?;
                with_value(&add.value, |value| list.insert(index, value))?;
            }
            (PatchOperation::Replace(replace), YamlNode::Sequence(list)) => {
                let index = last.parse().map_err(error)?;
                with_value(&replace.value, |value| list.set(index, value))?;
            }
            (PatchOperation::Remove(_), YamlNode::Sequence(list)) => {
                let removed = list.remove(last.parse().map_err(error)?);
                removed.ok_or_else(not_found)?;
            }
            (PatchOperation::Add(add), YamlNode::Mapping(mapping)) => {
                with_value(&add.value, |value| mapping.set(&*last, value))?;
            }
            (PatchOperation::Replace(replace), YamlNode::Mapping(mapping)) => {
                with_value(&replace.value, |value| mapping.set(&*last, value))?;
            }
            (PatchOperation::Remove(_), YamlNode::Mapping(mapping)) => {
                mapping.remove(&*last).ok_or_else(not_found)?;
            }
            (PatchOperation::Move(renamed), YamlNode::Mapping(mapping)) => {
                let old = old_name(&renamed.from, parent).ok_or(Refusal::HasNoSuchEdit)?;
                if !mapping.rename_key(&*old.decoded(), &*last) {
                    return Err(not_found());
                }
            }
            (_, YamlNode::Mapping(_) | YamlNode::Sequence(_)) => {
                return Err(Refusal::HasNoSuchEdit);
            }
            _ => return Err(not_found()),
        }
    }
    Ok(file.to_string())
}

/// Gives a value to yaml-edit: a collection as a document that it has read.
fn with_value<T>(value: &Value, give: impl FnOnce(&dyn AsYaml) -> T) -> Result<T, Refusal> {
    Ok(match value {
        Value::String(text) => give(&text.as_str()),
        Value::Bool(value) => give(value),
        Value::Number(number) if number.is_i64() => give(&number.as_i64().unwrap_or_default()),
        other => {
            let text = serde_yaml::to_string(other).map_err(error)?;
            give(&yaml_edit::Document::from_str(&text).map_err(error)?)
        }
    })
}

fn by_yamlpatch(edit: &Edit) -> Result<String, Refusal> {
    let mut text = edit.text.clone();
    for operation in &edit.patch.0 {
        let path = operation.path();
        let value: serde_yaml::Value = serde_yaml::from_str(&text).map_err(error)?;
        let (parent, last) = path.split_back().ok_or(Refusal::HasNoSuchEdit)?;
        let is_list = at(&value, parent).is_some_and(serde_yaml::Value::is_sequence);
        let converted = |value: &Value| serde_yaml::to_value(value).map_err(error);
        let (place, operation) = match operation {
            PatchOperation::Add(add) if is_list && last.decoded() == "-" => (
                parent,
                yamlpatch::Op::Append {
                    value: converted(&add.value)?,
                },
            ),
            PatchOperation::Add(add) if !is_list => {
                let (key, value) = (last.decoded().into_owned(), converted(&add.value)?);
                (parent, yamlpatch::Op::Add { key, value })
            }
            PatchOperation::Replace(replace) => {
                (path, yamlpatch::Op::Replace(converted(&replace.value)?))
            }
            PatchOperation::Remove(_) => (path, yamlpatch::Op::Remove),
            _ => return Err(Refusal::HasNoSuchEdit),
        };
        let mut components = Vec::new();
        let mut above = Some(&value);
        for token in place.tokens() {
            let token = token.decoded();
            let list = above.and_then(serde_yaml::Value::as_sequence);
            match token.parse::<usize>() {
                Ok(index) if list.is_some() => components.push(yamlpath::Component::from(index)),
                _ => components.push(yamlpath::Component::from(token.clone().into_owned())),
            }
            above = above.and_then(|above| child(above, &token));
        }
        let route = yamlpath::Route::default().with_keys(components);
        let document = yamlpath::Document::new(text.as_str()).map_err(error)?;
        let patch = yamlpatch::Patch { route, operation };
        text = yamlpatch::apply_yaml_patches(&document, &[patch])
            .map_err(error)?
            .source()
            .to_owned();
    }
    Ok(text)
}

/// Returns the name before, if a move is one within a mapping.
fn old_name<'a>(from: &'a Pointer, parent: &Pointer) -> Option<Token<'a>> {
    let (from_parent, old) = from.split_back()?;
    (from_parent == parent).then_some(old)
}

fn at<'v>(value: &'v serde_yaml::Value, path: &Pointer) -> Option<&'v serde_yaml::Value> {
    path.tokens()
        .try_fold(value, |value, token| child(value, &token.decoded()))
}

fn child<'v>(value: &'v serde_yaml::Value, token: &str) -> Option<&'v serde_yaml::Value> {
    match value {
        serde_yaml::Value::Sequence(items) => items.get(token.parse::<usize>().ok()?),
        other => other.get(token),
    }
}
