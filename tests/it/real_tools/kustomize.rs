//! `kustomize build` and `kubectl kustomize`.

use super::{User, same_but_for_the_agent};
use crate::tools;
use std::fs;
use std::path::Path;

const KUSTOMIZE: [&str; 3] = ["build", "--enable-alpha-plugins", "--enable-exec"];

/// The configuration that the overlays share.
const SHARED: &str = "kustomize/shared/mackerel/mackerel-agent.yaml";

#[test]
fn three_overlays_of_kustomize_share_one_function() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        for (overlay, prefix, role) in [
            ("production", "production-", "shop:web"),
            ("staging", "", "shop:web"),
            ("development", "", "shop:development"),
        ] {
            let folder = format!("examples/kustomize/overlays/{overlay}");
            let build = [&KUSTOMIZE[..], &[&folder]].concat();
            let (with, without) = (
                user.runs(&kustomize, &build),
                user.without_us().runs(&kustomize, &build),
            );
            let changed = [
                format!("CronJob/{prefix}report initContainers"),
                format!("Deployment/{prefix}web containers"),
            ];
            same_but_for_the_agent(&with, &without, &changed.each_ref().map(String::as_str));
            assert!(
                with.contains(role),
                "{overlay}: {role} is the role of the functionConfig, in:\n{with}"
            );
        }
    }
}

/// The documents say which missing option makes kustomize leave out the agents, and which makes it fail.
#[test]
fn kustomize_without_one_of_the_options() {
    let folder = "examples/kustomize/overlays/staging";
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        let silent = user.tries(&kustomize, &["build", "--enable-alpha-plugins", folder]);
        assert_eq!((silent.code, &*silent.stderr), (0, ""));
        assert!(!silent.stdout.contains("mackerel-container-agent"));
        for options in [&["build", folder][..], &["build", "--enable-exec", folder]] {
            let failed = user.tries(&kustomize, options);
            assert_eq!(failed.code, 1, "{}", failed.stdout);
            assert!(failed.stderr.contains("external plugins disabled"));
        }
    }
}

/// The transformers of a Component run before the overlay sets the namespace.
#[test]
fn a_component_of_kustomize_sees_no_namespace() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ntransformers: [../mackerel]\n";
        fs::create_dir_all(user.path("examples/kustomize/shared/component")).unwrap();
        fs::write(
            user.path("examples/kustomize/shared/component/kustomization.yaml"),
            component,
        )
        .unwrap();
        let overlay = "kustomize/overlays/staging/kustomization.yaml";
        let changed = user.reads(overlay).replace(
            "transformers:\n  - ../../shared/mackerel",
            "components: [../../shared/component]",
        );
        fs::write(user.path(&format!("examples/{overlay}")), changed).unwrap();
        let configuration = user.reads(SHARED) + "  select: {namespaces: [staging]}\n";
        fs::write(user.path(&format!("examples/{SHARED}")), configuration).unwrap();
        let built = user.tries(
            &kustomize,
            &[&KUSTOMIZE[..], &["examples/kustomize/overlays/staging"]].concat(),
        );
        assert!(
            built.code == 0 && built.stderr.contains("namespace-unknown"),
            "{}",
            built.stderr
        );
    }
}

#[test]
fn kustomize_passes_arguments() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let user = User::new();
    let program = "        path: mackerel-agent-injector\n";
    let arguments =
        format!("{program}        args: [--set=apiKey.secretKeyRef.name=mackerel-staging]\n");
    fs::write(
        user.path(&format!("examples/{SHARED}")),
        user.reads(SHARED).replace(program, &arguments),
    )
    .unwrap();
    let build = [&KUSTOMIZE[..], &["examples/kustomize/overlays/staging"]].concat();
    let (with, without) = (
        user.runs(&kustomize, &build),
        user.without_us().runs(&kustomize, &build),
    );
    same_but_for_the_agent(
        &with,
        &without,
        &["CronJob/report initContainers", "Deployment/web containers"],
    );
    assert!(
        with.contains("name: mackerel-staging"),
        "the Secret of the argument, in:\n{with}"
    );
}

#[test]
fn kustomize_shows_why_we_refuse_and_prints_no_manifest() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        user.asks_badly("kustomize/base/deployment.yaml");
        let refused = user.tries(
            &kustomize,
            &[&KUSTOMIZE[..], &["examples/kustomize/overlays/production"]].concat(),
        );
        refused.says_why_on_stderr();
        assert_eq!(refused.stdout, "");
    }
}

/// A generator gets no resources, so that no pod template gets an agent.
#[test]
fn kustomize_shows_that_a_generator_injects_nothing() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        let overlay = "kustomize/overlays/staging/kustomization.yaml";
        let changed = user.reads(overlay).replace("transformers:", "generators:");
        fs::write(user.path(&format!("examples/{overlay}")), changed).unwrap();
        let build = [&KUSTOMIZE[..], &["examples/kustomize/overlays/staging"]].concat();
        let built = user.tries(&kustomize, &build);
        assert_eq!(built.code, 0, "{}", built.stderr);
        assert!(!built.stdout.contains("mackerel-container-agent"));
        assert!(
            built.stderr.contains("warning[configuration-unused]"),
            "{}",
            built.stderr
        );
    }
}

#[test]
fn kubectl_kustomize_calls_us_as_a_legacy_plugin() {
    let Some(kubectl) = tools::find("kubectl", "") else {
        return;
    };
    let user = User::new();
    let build = [
        "kustomize",
        "--enable-alpha-plugins",
        "examples/kubectl-kustomize",
    ];
    let (with, without) = (
        user.runs(&kubectl, &build),
        user.without_us().runs(&kubectl, &build),
    );
    same_but_for_the_agent(
        &with,
        &without,
        &["CronJob/report initContainers", "Deployment/web containers"],
    );
    assert!(
        with.contains("shop:web"),
        "the role of the configuration, in:\n{with}"
    );

    user.asks_badly("kustomize/base/deployment.yaml");
    let refused = user.tries(&kubectl, &build);
    refused.says_why_on_stderr();
    assert_eq!(refused.stdout, "");
}

/// The shared configuration, with explicit names and no roles.
const NAMES: &str = "
spec:
  apiKey: {secretKeyRef: {name: team-key}}
  agent:
    config: {configMapKeyRef: {name: agent}}
";

const GENERATORS: &str = r#"  - name: agent
    literals: ["mackerel-agent.conf=verbose: true"]
secretGenerator:
  - name: team-key
    literals: [MACKEREL_APIKEY=key]
"#;

#[test]
fn the_check_of_a_build_accepts_the_names_of_kustomize() {
    let mackerel = Path::new(env!("CARGO_BIN_EXE_mackerel-agent-injector"));
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = User::new();
        let shared = user.reads(SHARED);
        let (head, _) = shared.split_once("spec:").unwrap();
        let base = "kustomize/base/kustomization.yaml";
        let generated = user.reads(base) + GENERATORS;
        fs::write(user.path(&format!("examples/{base}")), generated).unwrap();
        let configuration = [head.trim_end(), NAMES].concat();
        fs::write(user.path(&format!("examples/{SHARED}")), configuration).unwrap();
        for (overlay, transformer, key, role) in [
            (
                "production",
                "shared/mackerel",
                "name: production-team-key-",
                "",
            ),
            ("staging", "shared/mackerel", "name: team-key-", ""),
            (
                "development",
                "overlays/development/mackerel",
                "name: team-key-",
                "shop:development",
            ),
        ] {
            let folder = format!("examples/kustomize/overlays/{overlay}");
            let built = user.runs(&kustomize, &[&KUSTOMIZE[..], &[&folder]].concat());
            let transformer = format!("examples/kustomize/{transformer}");
            let configuration = user.runs(&kustomize, &["build", &transformer]);
            assert!(built.contains(key) && built.contains(role), "{built}");
            fs::write(user.path("built.yaml"), &built).unwrap();
            fs::write(user.path("mackerel.yaml"), configuration).unwrap();
            let check = [
                "inject",
                "--check",
                "--config",
                "mackerel.yaml",
                "built.yaml",
            ];
            let said = user.tries(mackerel, &check);
            let place = format!("{version} {overlay}: {}", said.stderr);
            assert_eq!(said.code, 0, "{place}");
            assert!(!said.stderr.contains("value-kept"), "{place}");
        }
    }
}
