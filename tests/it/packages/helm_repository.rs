//! The whole repository as a plugin for Helm, which clones it from a forge and fetches the program from the release there.

use super::helm_clone::{runs_as_command_and_post_renderer, user};
use super::helm_plugins::{helms, is_helm3, packages, platform};
use super::static_program::script;
use crate::http_server::serve;
use crate::real_tools::{PROGRAM, User, copy};
use crate::tools;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;
use support::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = "example/injector";

/// Without its release, the plugin of the repository has no program, and all others load.
#[test]
fn helm_installs_the_repository_and_fetches_the_program() {
    let Some(packages) = packages() else { return };
    if !tools::on_path(&["curl", "git"]) {
        return;
    }
    for helm in helms() {
        let user = user();
        let other = user.path("other");
        fs::create_dir(&other).unwrap();
        let yaml = "name: other\nversion: 0.1.0\nusage: other\ndescription: other\ncommand: echo\n";
        fs::write(other.join("plugin.yaml"), yaml).unwrap();
        user.runs(&helm, &["plugin", "install", "./other"]);
        fs::remove_file(user.path("with").join(PROGRAM)).unwrap();
        let release = forge(&user);

        let address = format!("file://{}", user.path("injector").display());
        let mut install = vec!["plugin", "install", &address];
        if !is_helm3(&helm) {
            install.push("--verify=false");
        }
        let fails = |arguments: &[&str], why: &str| {
            let failed = user.tries(&helm, arguments);
            assert_ne!(failed.code, 0);
            assert!(
                failed.stderr.contains(why) && failed.stderr.contains("helm plugin update"),
                "{}",
                failed.stderr
            );
            assert_eq!(user.runs(&helm, &["other", "said"]), "said\n");
            assert_ne!(user.tries(&helm, &["mackerel", "version"]).code, 0);
        };
        fails(&install, "cannot fetch https://github.com/example/injector");

        // A program that the checksums do not know.
        fs::create_dir_all(&release).unwrap();
        let archive = format!("{PROGRAM}-{VERSION}-{}.tar.gz", platform());
        fs::write(release.join(&archive), "other").unwrap();
        fs::copy(
            packages.folder.join("SHA256SUMS"),
            release.join("SHA256SUMS"),
        )
        .unwrap();
        let update = ["plugin", "update", "mackerel"];
        fails(&update, "is not the file of SHA256SUMS");

        fs::remove_dir_all(&release).unwrap();
        symlink(&packages.folder, &release).unwrap();
        user.runs(&helm, &update);
        if is_helm3(&helm) {
            runs_as_command_and_post_renderer(&user, &helm);
        } else {
            // It knows the plugin of Helm 3 as a command only.
            user.runs(&helm, &["mackerel", "version"]);
            let path = user.tries(&helm, &["mackerel", "path"]);
            assert_eq!(path.code, 2);
            let name = "--post-renderer mackerel-agent-injector";
            assert!(path.stderr.contains(name), "{}", path.stderr);
        }
        user.runs(&helm, &["plugin", "uninstall", "mackerel"]);
        user.runs(&helm, &install);
        user.runs(&helm, &["mackerel", "version"]);
        user.runs(&helm, &["plugin", "uninstall", "mackerel", "other"]);
        let left = fs::read_dir(user.path("my data/plugins")).unwrap();
        assert_eq!(left.count(), 0);
    }
}

/// Makes the repository `injector` in the user's folder, as it is once it has an address, and a `curl` that takes this machine
/// for the forge. Returns the folder of the release on the forge.
fn forge(user: &User) -> PathBuf {
    let repository = user.path("injector");
    fs::create_dir_all(repository.join(".ci")).unwrap();
    copy(&root().join("helm-plugin"), &repository.join("helm-plugin"));
    fs::copy(root().join("Cargo.toml"), repository.join("Cargo.toml")).unwrap();
    let plugin = repository.join("helm-plugin/root-plugin.yaml");
    fs::copy(plugin, repository.join("plugin.yaml")).unwrap();
    let published = format!("repository={REPOSITORY}\nimage=\n");
    fs::write(repository.join(".ci/published"), published).unwrap();
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message=all"],
    ] {
        let identity = ["user.name=tests", "user.email=tests@example.com"];
        let identity = identity.iter().flat_map(|setting| ["-c", setting]);
        script(
            Command::new("git")
                .arg("-C")
                .arg(&repository)
                .args(identity)
                .args(arguments),
        );
    }

    let downloads = format!("{REPOSITORY}/releases/download");
    let forge = user.path("forge");
    fs::create_dir_all(forge.join(&downloads)).unwrap();
    let curl = user.path("curl");
    let text = format!(
        "#!/bin/sh\nPATH=${{PATH#*/tools:}}\nfor word; do\n  shift\n  \
         set -- \"$@\" \"$(printf %s \"$word\" | sed 's|^https://github.com/|{}/|')\"\ndone\nexec curl \"$@\"\n",
        serve(&forge)
    );
    fs::write(&curl, text).unwrap();
    fs::set_permissions(&curl, fs::Permissions::from_mode(0o755)).unwrap();
    user.has("curl", &curl);
    forge.join(downloads).join(format!("v{VERSION}"))
}

/// Helm would install a plugin whose program cannot be fetched.
#[test]
fn the_repository_is_a_plugin_if_it_has_an_address() {
    let published = fs::read_to_string(root().join(".ci/published")).unwrap();
    let has_address = published
        .lines()
        .filter_map(|line| line.strip_prefix("repository="))
        .any(|address| !address.is_empty());
    let plugin = fs::read_to_string(root().join("plugin.yaml")).ok();
    let template = fs::read_to_string(root().join("helm-plugin/root-plugin.yaml")).unwrap();
    assert_eq!(plugin, has_address.then_some(template));
}
