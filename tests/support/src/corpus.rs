//! The corpus: manifests of public repositories, and public suites, unpacked once into `target/corpus`.
//!
//! The corpus is no part of the repository. It is looked for where `MACKEREL_CORPUS` points (a folder that holds
//! `manifests.tar.xz` and `suites.tar.xz`), else in `../shared/corpus`. A test that does not find it says so on stderr,
//! past the test harness, and with a running count.

use crate::root;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The manifests, `<owner>+<repo>/<path>`, in order of name. None where the corpus is absent.
pub fn manifests(test: &str) -> Option<Files> {
    unpacked("manifests", test).map(|root| Files::below(&root))
}

/// The folder of a suite: `yaml-test-suite`, `json-patch-tests` or `istio-inject`. None where the corpus is absent.
pub fn suite(name: &str, test: &str) -> Option<PathBuf> {
    unpacked("suites", test).map(|root| root.join(name))
}

/// The names and bytes of files, read one after the other.
pub struct Files {
    root: PathBuf,
    names: std::vec::IntoIter<String>,
}

impl Files {
    pub fn below(root: &Path) -> Self {
        let mut names = Vec::new();
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    names.push(
                        path.strip_prefix(root)
                            .unwrap()
                            .to_str()
                            .unwrap()
                            .to_owned(),
                    );
                }
            }
        }
        names.sort();
        Self {
            root: root.to_path_buf(),
            names: names.into_iter(),
        }
    }
}

impl Iterator for Files {
    type Item = (String, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let name = self.names.next()?;
        let bytes = fs::read(self.root.join(&name)).unwrap();
        Some((name, bytes))
    }
}

static SKIPPED: AtomicUsize = AtomicUsize::new(0);
static UNPACKING: Mutex<()> = Mutex::new(());

fn unpacked(archive: &str, test: &str) -> Option<PathBuf> {
    let given = std::env::var_os("MACKEREL_CORPUS").map(PathBuf::from);
    let beside = |root: &Path| Some(root.parent()?.join("shared/corpus"));
    let source = given.or_else(|| beside(root())).unwrap_or_default();
    let packed = source.join(format!("{archive}.tar.xz"));
    if !packed.is_file() {
        let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
        let place = packed.display();
        // Not `eprintln`, which the test harness keeps to itself.
        let line =
            format!("SKIPPED ({count} so far): {test}: there is no {place}; set MACKEREL_CORPUS\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    let _one_at_a_time = UNPACKING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    // The tests are programs `target/debug/deps/…`.
    let program = std::env::current_exe().unwrap();
    let target = program.ancestors().nth(3).unwrap().join("corpus");
    let folder = target.join(archive);
    if !folder.is_dir() {
        fs::create_dir_all(&target).unwrap();
        // Another process may be at it too: each unpacks on its own, one of them puts its folder in place.
        let own = tempfile::tempdir_in(&target).unwrap();
        let unpack = Command::new("tar")
            .arg("-xJf")
            .arg(&packed)
            .arg("-C")
            .arg(own.path())
            .status()
            .unwrap();
        assert!(
            unpack.success(),
            "tar could not unpack {}",
            packed.display()
        );
        if fs::rename(own.path(), &folder).is_ok() {
            // The folder now has another name; there is nothing left to remove.
            let _ = own.keep();
        }
        assert!(
            folder.is_dir(),
            "{} could not be put in place",
            folder.display()
        );
    }
    Some(folder)
}
