//! `-k` with programs that take the place of kustomize.

use crate::program::{Folder, Ran, ran};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// A folder with a kustomization, and with a script in the place of kustomize.
fn folder(place: &str, script: &str) -> Folder {
    let folder = Folder::with(&[("o/kustomization.yaml", ""), ("o/map.yaml", CONFIG_MAP)]);
    folder.write(place, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(folder.path(place), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn run(folder: &Folder, path: &str, arguments: &[&str]) -> Ran {
    let mut command = folder.command(arguments);
    command.env("PATH", path);
    ran(command, b"")
}

/// They would be folders of the repository, such as one of a stranger.
#[test]
fn entries_of_the_path_that_are_empty_or_relative_are_not_searched() {
    for (place, paths) in [
        (
            "kustomize",
            &["", ":", ":/none", "/none:", ".", "/none::/none"][..],
        ),
        ("tools/kubectl", &["tools", "./tools:/none"]),
    ] {
        let folder = folder(place, "cat o/map.yaml");
        for path in paths {
            let ran = run(&folder, path, &["inject", "-k", "o"]);
            let error = "error: `-k` needs `kustomize` or `kubectl` in the PATH\n";
            assert_eq!((ran.code, &*ran.stderr), (Some(2), error), "{path:?}");
        }
        let tools = folder.path(place).parent().unwrap().display().to_string();
        let ran = run(
            &folder,
            &format!(":{tools}:/usr/bin:/bin"),
            &["inject", "-k", "o"],
        );
        assert_eq!((ran.code, &*ran.stdout), (Some(0), CONFIG_MAP), "{ran:?}");
    }
}

#[test]
fn a_build_that_takes_long_is_named() {
    let folder = folder("tools/kustomize", "sleep 6; cat o/map.yaml");
    let path = format!("{}:/usr/bin:/bin", folder.path("tools").display());
    let waiting = "waiting for kustomize build o\nno known pod template, 1 other resource\n";
    std::thread::scope(|scope| {
        for (quiet, expected) in [(&[][..], waiting), (&["-q"], "")] {
            let arguments = [&["inject"], quiet, &["-k", "o"]].concat();
            let (folder, path) = (&folder, &path);
            scope.spawn(move || {
                let ran = run(folder, path, &arguments);
                assert_eq!((&*ran.stdout, &*ran.stderr), (CONFIG_MAP, expected));
            });
        }
    });
}

/// The bound of the output is held by a unit test, since it is 1 GiB.
#[test]
fn endless_messages_end_a_build() {
    let folder = folder("tools/kustomize", "exec yes '::error::x' >&2");
    let path = format!("{}:/usr/bin:/bin", folder.path("tools").display());
    let ran = run(&folder, &path, &["inject", "-k", "o"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
    assert!(
        ran.stderr
            .starts_with("error: kustomize build o: ::error::x ::"),
        "{}",
        ran.stderr
    );
}
