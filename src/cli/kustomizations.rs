//! Patches of the kustomizations of the input and of its parent folders: files that are patches, and fields that they replace.

use crate::cli::discover::{InputFile, identity};
use crate::cli::input::read_file;
use crate::diagnostic::LineCounter;
use crate::inject::Outcome;
use crate::manifest::field_path::field_path;
use crate::manifest::kustomization::{self, Kustomization, NAMES, NamedPatch, PatchEntry, PatchSource};
use crate::manifest::patch_effect::{PatchEffect, effects};
use crate::report::{Finding, Reason};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Parent folders in which a kustomization is looked for.
const MAX_PARENTS: usize = 8;

/// The files that are named as patches, by which kustomization, and the fields that patches replace or remove.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    files: HashMap<PathBuf, NamedPatch>,
    /// Each with the place of the patch.
    effects: Vec<(PatchEffect, String)>,
}

impl Patches {
    /// Reads the kustomizations. One that cannot be read names nothing; its error is reported where it is an input itself.
    pub(crate) fn of(kustomizations: &[PathBuf], files: &[InputFile]) -> Self {
        let mut patches = Self::default();
        let mut resources = Vec::new();
        for path in kustomizations.iter().cloned().chain(of_parents(kustomizations, files)) {
            let Ok(file) = read_file(&path) else { continue };
            let folder = path.parent().unwrap_or(Path::new(""));
            let Kustomization { resources: kept, patches: named, entries } = kustomization::read(&file.text);
            let mut lines = LineCounter::new(file.text.as_bytes());
            let mut place = |offset| {
                let at = lines.position(offset);
                format!("{}:{}:{}", path.display(), at.line, at.column)
            };
            for entry in named {
                let patch = NamedPatch { place: place(entry.offset), pointer: entry.pointer };
                patches.files.entry(identity(&folder.join(entry.path))).or_insert(patch);
            }
            for PatchEntry { target, source, offset } in entries {
                match source {
                    PatchSource::Inline(text) => {
                        let found = effects(&text, target.as_ref()).into_iter();
                        patches.effects.extend(found.map(|effect| (effect, place(offset))));
                    }
                    PatchSource::File(name) => {
                        let path = folder.join(name);
                        let Ok(file) = read_file(&path) else { continue };
                        let mut lines = LineCounter::new(file.text.as_bytes());
                        patches.effects.extend(effects(&file.text, target.as_ref()).into_iter().map(|effect| {
                            let at = lines.position(effect.offset);
                            (effect, format!("{}:{}:{}", path.display(), at.line, at.column))
                        }));
                    }
                }
            }
            resources.extend(kept.into_iter().map(|resource| folder.join(resource)));
        }
        if !patches.files.is_empty() {
            // A file that is also a resource gets its agent as one.
            let resources: HashSet<PathBuf> = resources.iter().map(|resource| identity(resource)).collect();
            patches.files.retain(|file, _| !resources.contains(file));
        }
        patches
    }

    /// Returns the entry that names the file as a patch.
    pub(crate) fn get(&self, file: &Path) -> Option<&NamedPatch> {
        if self.files.is_empty() { None } else { self.files.get(&identity(file)) }
    }

    /// Returns a warning if a patch replaces or removes a field that holds a part of the template's agent.
    pub(crate) fn conflict(&self, outcome: &Outcome) -> Option<Finding> {
        let template = &outcome.template;
        let holders = [
            format!("{template}/spec/{}", outcome.agent_list?),
            format!("{template}/spec/volumes"),
            format!("{template}/metadata/annotations"),
        ];
        let (effect, place) = self.effects.iter().find(|(PatchEffect { target, pointer, .. }, _)| {
            (&target.kind, &target.name) == (&outcome.identity.kind, &outcome.identity.name)
                && holders.iter().any(|holder| {
                    holder.strip_prefix(&**pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
        })?;
        let field = field_path(&effect.pointer);
        let message = format!("{place}: this patch replaces or removes {field}, and with it a part of the agent");
        let finding = Finding::new(Reason::PatchConflict, message, outcome.offset, &effect.pointer);
        Some(finding.with_help("have the patch change single items, or inject the output of `kustomize build`"))
    }
}

/// Returns the kustomizations in the folders of the files and above them, up to the root of a Git repository.
fn of_parents(known: &[PathBuf], files: &[InputFile]) -> Vec<PathBuf> {
    let mut seen: HashSet<PathBuf> = known.iter().map(|path| identity(path)).collect();
    let mut folders = HashSet::new();
    let mut found = Vec::new();
    let here = identity(Path::new("."));
    for file in files {
        let path = identity(&file.path);
        for folder in path.ancestors().skip(1).take(MAX_PARENTS) {
            if !folders.insert(folder.to_owned()) {
                break;
            }
            for kustomization in NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()) {
                if seen.insert(kustomization.clone()) {
                    found.push(kustomization.strip_prefix(&here).map_or(kustomization.clone(), Path::to_owned));
                }
            }
            if folder.join(".git").exists() {
                break;
            }
        }
    }
    found
}
