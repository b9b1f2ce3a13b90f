//! Containers of a workload that stand where nothing looks for them: their key or one on the way to them is misspelt, or
//! stands too far to the left or to the right.

use crate::config::closest;
use crate::decide::{Terms, is_skipped};
use crate::field_path::field_path;
use crate::find::{Table, Templates, built_in_paths, member, step};
use crate::patch::escape;
use crate::report::{Finding, Reason};
use crate::resource::Resource;
use crate::template_form::{Formed, MOST_LOOKED_AT, formed};
use crate::yaml::{Kind, NodeId, Tree};
use std::collections::HashSet;

/// From a pod template to its containers.
const CONTAINERS: &str = "/spec/containers";

/// What is told of a workload in which no pod template is found, or only some without containers. Silent where the
/// configuration would pass by a template of it.
#[must_use]
pub(crate) fn misplaced_template(
    tree: &Tree<'_>,
    resource: &Resource,
    table: &Table<'_>,
    terms: Terms<'_>,
) -> Option<Finding> {
    let gvk = resource.gvk.as_ref()?;
    let paths: Vec<&str> = built_in_paths(&gvk.group, &gvk.kind).collect();
    let first = paths.first()?;
    let mut looked_at = formed(tree, resource.node).into_iter().take(MOST_LOOKED_AT);
    let found = looked_at.find(|Formed { pointer, node, .. }| !is_skipped(tree, resource, pointer, *node, terms));
    let found = found.map(|Formed { pointer, node, .. }| (pointer + CONTAINERS, node));
    let templates = table.templates(tree, resource.node, gvk);
    let (there, node) = found.or_else(|| misspelt_list(tree, &templates))?;
    let kind = &gvk.kind;
    let places: Vec<String> = paths.iter().map(|path| shown(&format!("{path}{CONTAINERS}"))).collect();
    let message = format!(
        "containers stand at {}, where nothing looks for them: a {kind} has them at {}",
        shown(&there),
        places.join(" and ")
    );
    let typo = paths.iter().find_map(|path| typo(&there, &format!("{path}{CONTAINERS}")));
    let (pointer, help) = match typo {
        Some((pointer, meant)) => (pointer, format!("did you mean `{meant}`?")),
        None => {
            let is_beside_spec = |(template, _): &(String, NodeId)| {
                there.strip_prefix(&**template).is_some_and(|rest| rest.matches('/').count() == 1)
            };
            let help = match templates.seen.first() {
                _ if templates.seen.iter().any(is_beside_spec) => "put them below `spec`".to_owned(),
                Some((pointer, _)) if !pointer.is_empty() => {
                    format!("move them to its pod template, {}, which has none", shown(pointer))
                }
                _ => help(table, &gvk.group, &there, first),
            };
            (there.clone(), help)
        }
    };
    let offset = key(tree, resource.node, &pointer).map_or(tree.span(node).start, |key| tree.span(key).start);
    Some(Finding::new(Reason::MisplacedTemplate, message, offset, &pointer).with_help(help))
}

/// Something like a list of containers in a template that has none, in its `spec` or beside it.
fn misspelt_list(tree: &Tree<'_>, templates: &Templates) -> Option<(String, NodeId)> {
    const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];
    // Aliases may lead to one from many templates.
    let mut looked_at = HashSet::new();
    templates.seen.iter().find_map(|(pointer, template)| {
        let spec = member(tree, *template, "spec").map(|spec| tree.resolve(spec));
        if spec.is_some_and(|spec| member(tree, spec, "containers").is_some()) {
            return None;
        }
        let in_spec = spec.map(|spec| (format!("{pointer}/spec"), spec));
        let mut places = in_spec.into_iter().chain([(pointer.clone(), tree.resolve(*template))]);
        places.find_map(|(pointer, mapping)| {
            if !looked_at.insert(mapping) {
                return None;
            }
            let is_list = |node: NodeId| tree.items(tree.resolve(node)).any(|item| tree.kind(item) == Kind::Mapping);
            tree.entries(mapping).filter(|(_, list)| is_list(*list)).find_map(|(key, _)| {
                let name = tree.scalar(key)?;
                closest(&name, LISTS).filter(|list| *list == "containers")?;
                Some((format!("{pointer}/{}", escape(&name)), key))
            })
        })
    })
}

/// The one key of a pointer that is spelt otherwise than the wanted one has it, as a pointer, and what it should be.
fn typo(there: &str, wanted: &str) -> Option<(String, String)> {
    let (keys, wanted): (Vec<&str>, Vec<&str>) = (there.split('/').collect(), wanted.split('/').collect());
    let is_index = |key: &str| key.parse::<usize>().is_ok();
    let differs = |(key, wanted): (&&str, &&str)| key != wanted && !(*wanted == "*" && is_index(key));
    let mut others = keys.iter().zip(&wanted).enumerate().filter(|(_, pair)| differs(*pair));
    let (at, (key, meant)) = others.next().filter(|_| keys.len() == wanted.len())?;
    let is_alone = others.next().is_none();
    let meant = closest(key, [*meant]).filter(|_| is_alone)?;
    Some((keys.get(..=at)?.join("/"), meant.to_owned()))
}

/// Another kind that has its containers there, of the same API group if there is one: else the place to move them to.
fn help(table: &Table<'_>, group: &str, there: &str, path: &str) -> String {
    let has_them_there = |(group, kind): &(&str, &str)| {
        built_in_paths(group, kind).any(|path| there.strip_suffix(CONTAINERS) == Some(path))
    };
    let of_group = table.kinds().filter(|(of, _)| *of == group).find(has_them_there);
    let is_pod = there == CONTAINERS;
    match of_group.or_else(|| table.kinds().find(has_them_there).filter(|_| is_pod)) {
        Some((_, kind)) => format!("is its `kind` right? a {kind} has them there"),
        None => format!("its pod template is to stand at {}", shown(path)),
    }
}

/// The key that the last token of a pointer names.
fn key(tree: &Tree<'_>, resource: NodeId, pointer: &str) -> Option<NodeId> {
    let (before, last) = pointer.rsplit_once('/')?;
    let holder = before.split('/').skip(1).try_fold(resource, |node, token| step(tree, node, token))?;
    let value = step(tree, holder, last)?;
    tree.entries(tree.resolve(holder)).find(|(_, of)| *of == value).map(|(key, _)| key)
}

/// `spec.replicatedJobs[*].template`
fn shown(pointer: &str) -> String {
    field_path(pointer).replace(".*", "[*]")
}

#[cfg(test)]
mod tests {
    use super::typo;

    #[test]
    fn one_key_may_be_misspelt() {
        let template = "/spec/template/spec/containers";
        for (there, wanted, expected) in [
            ("/spec/templates/spec/containers", template, Some(("/spec/templates", "template"))),
            ("/sepc/template/spec/containers", template, Some(("/sepc", "spec"))),
            ("/spec/other/spec/containers", template, None),
            ("/sepc/templates/spec/containers", template, None),
            ("/template/spec/containers", template, None),
            (
                "/spec/jobs/0/tempalte/containers",
                "/spec/jobs/*/template/containers",
                Some(("/spec/jobs/0/tempalte", "template")),
            ),
        ] {
            let found = typo(there, wanted);
            assert_eq!(found.as_ref().map(|(pointer, meant)| (&**pointer, &**meant)), expected, "{there}");
        }
    }
}
