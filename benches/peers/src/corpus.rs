//! The documents of the corpus.

use crate::judge;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use yaml_json_patch::documents;

/// A document, with the name of its file.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Returns so many documents that both judges read, evenly chosen.
pub(crate) fn chosen(count: usize) -> Result<Vec<Source>, Box<dyn Error>> {
    let root = unpacked()?;
    let mut all = Vec::new();
    for path in files(&root)? {
        let Ok(stream) = std::fs::read_to_string(&path) else {
            continue;
        };
        for document in documents(&stream) {
            let text = &stream[document.span];
            if judge::as_values(text).is_ok_and(|value| !value.is_null())
                && judge::as_written(text).is_ok()
            {
                all.push(Source {
                    name: path.strip_prefix(&root)?.display().to_string(),
                    text: text.to_owned(),
                });
            }
        }
    }
    let step = (all.len() / count).max(1);
    Ok(all.into_iter().step_by(step).take(count).collect())
}

fn files(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Unpacks `manifests.tar.xz` of the folder that `MACKEREL_CORPUS` names, once.
fn unpacked() -> Result<PathBuf, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/corpus/manifests");
    if !folder.is_dir() {
        let source = std::env::var_os("MACKEREL_CORPUS")
            .ok_or("set MACKEREL_CORPUS to the folder of the corpus")?;
        let parts = folder.with_extension("part");
        std::fs::create_dir_all(&parts)?;
        let archive = PathBuf::from(source).join("manifests.tar.xz");
        let tar = Command::new("tar")
            .arg("-xJf")
            .arg(archive)
            .arg("-C")
            .arg(&parts)
            .status()?;
        if !tar.success() {
            return Err("tar failed".into());
        }
        std::fs::rename(parts, &folder)?;
    }
    Ok(folder)
}
