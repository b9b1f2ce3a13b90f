//! `kustomize build` and `kubectl kustomize`.

use super::{PROGRAM, User, same_but_for_the_agent};
use crate::packages::published::image;
use crate::program::WEB;
use crate::tools;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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

/// `krm-fn/agent-injector.yaml` in its own directory, and as a copy beside the kustomization.
#[test]
fn the_sample_of_the_function_is_a_transformer() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        for transformer in ["../../../../krm-fn", "agent-injector.yaml"] {
            let (user, folder) = user_of_sample(transformer);
            let build = [&KUSTOMIZE[..], &[&folder]].concat();
            same_but_for_the_agent(
                &user.runs(&kustomize, &build),
                &user.without_us().runs(&kustomize, &build),
                &["CronJob/report initContainers", "Deployment/web containers"],
            );
            let silent = user.tries(&kustomize, &["build", "--enable-alpha-plugins", &folder]);
            assert_eq!((silent.code, &*silent.stderr), (0, ""));
            assert!(!silent.stdout.contains("mackerel-container-agent"));
        }
    }
}

/// The comment in the file says that kustomize prefers the container.
#[test]
fn the_container_of_the_sample_is_a_comment_that_works() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let (user, folder) = user_of_sample("../../../../krm-fn");
        let sample = user.path("krm-fn/agent-injector.yaml");
        let text = fs::read_to_string(&sample).unwrap();
        let container = "      # container:\n      #   image: ";
        assert!(text.contains(container), "{text}");
        let text = text.replace(container, "      container:\n        image: ");
        fs::write(&sample, text).unwrap();
        let docker = user.path("docker");
        let script = "#!/bin/sh\necho \"docker $*\" >&2\nexec mackerel-agent-injector\n";
        fs::write(&docker, script).unwrap();
        fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
        user.has("docker", &docker);
        let built = user.tries(&kustomize, &[&KUSTOMIZE[..], &[&folder]].concat());
        let image = format!(" {}", image());
        let called = built.stderr.lines().next().unwrap_or_default();
        assert!(
            called.starts_with("docker run ") && called.ends_with(&image),
            "{}",
            built.stderr
        );
        assert!(built.stdout.contains("mackerel-container-agent"));
    }
}

/// A user whose staging overlay names this transformer, which is the sample or its directory; and that overlay.
fn user_of_sample(transformer: &str) -> (User, String) {
    let user = User::new();
    let folder = "examples/kustomize/overlays/staging";
    let sample = user.path("krm-fn/agent-injector.yaml");
    fs::copy(sample, user.path(folder).join("agent-injector.yaml")).unwrap();
    let kustomization = user.path(folder).join("kustomization.yaml");
    let text = fs::read_to_string(&kustomization).unwrap();
    let shared = "transformers:\n  - ../../shared/mackerel\n";
    assert!(text.contains(shared), "{text}");
    let text = text.replace(shared, &format!("transformers:\n  - {transformer}\n"));
    fs::write(kustomization, text).unwrap();
    (user, folder.to_owned())
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

/// An overlay of which each file alone is no whole workload.
const OVERLAY: [(&str, &str); 4] = [
    ("fleet/agent-injector.yaml", CONFIGURATION),
    ("fleet/base/kustomization.yaml", "resources: [web.yaml]\n"),
    ("fleet/base/web.yaml", WEB),
    (
        "fleet/prod/kustomization.yaml",
        "namespace: shop\nnamePrefix: prod-\nresources: [../base]\n",
    ),
];

const CONFIGURATION: &str = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n\
                             spec: {agent: {roles: [\"shop:web\"]}}\n";

/// A user with these files and kustomize.
fn user_with(files: &[(&str, &str)], kustomize: &Path) -> User {
    let user = User::new();
    for (name, text) in files {
        fs::create_dir_all(user.path(name).parent().unwrap()).unwrap();
        fs::write(user.path(name), text).unwrap();
    }
    user.has("kustomize", kustomize);
    user
}

#[test]
fn k_gives_what_a_pipe_gives() {
    for version in ["5.8.", "5.6."] {
        let Some(kustomize) = tools::find("kustomize", version) else {
            continue;
        };
        let user = user_with(&OVERLAY, &kustomize);
        let injector = Path::new(PROGRAM);
        let piped = "kustomize build fleet/prod | mackerel-agent-injector inject --config fleet/agent-injector.yaml -";
        let piped = user.runs(Path::new("sh"), &["-c", piped]);
        assert!(piped.contains("value: shop:web"), "{piped}");
        assert_eq!(user.runs(injector, &["inject", "-k", "fleet/prod"]), piped);

        let check = user.tries(injector, &["inject", "--check", "-k", "fleet/prod"]);
        let line = "kustomize build fleet/prod:1:1: apps/v1/Deployment/shop/prod-web: the agent would be added\n";
        assert_eq!((check.code, &*check.stdout), (1, line));
        let github = [
            "inject",
            "--check",
            "-o",
            "github",
            "-k",
            "fleet/prod",
            "fleet/base",
        ];
        let github = user.tries(injector, &github).stdout;
        for directory in ["prod", "base"] {
            let annotation = format!(
                "::error file=fleet/{directory}/kustomization.yaml,line=1,col=1,title=agent-missing::"
            );
            assert!(github.contains(&annotation), "{github}");
        }
        let diff = user.runs(injector, &["inject", "--diff", "-k", "fleet/prod"]);
        let head = "kustomize build fleet/prod, no patch for files:\n--- a/fleet/prod\n+++ b/fleet/prod\n@@ ";
        assert!(diff.starts_with(head), "{diff}");
        let twice = ["inject", "--check", "-k", "fleet/prod", "./fleet/prod/"];
        let by_both = check
            .stderr
            .replace("rbac -k fleet/prod", "rbac -k fleet/prod ./fleet/prod/");
        assert_eq!(user.tries(injector, &twice).stderr, by_both);
        assert!(
            check
                .stderr
                .contains("`mackerel-agent-injector rbac -k fleet/prod | kubectl apply -f -`")
        );
        let other = user.path("fleet/test");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("kustomization.yaml"), "resources: [../base]\n").unwrap();
        let never = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\nspec: {injection: annotated}\n";
        fs::write(other.join("agent-injector.yaml"), never).unwrap();
        let both = ["inject", "--check", "-k", "fleet/prod", "fleet/test"];
        let several = user.tries(injector, &both);
        assert_eq!(several.code, 2);
        let commands = "`mackerel-agent-injector inject --check -k fleet/prod` and `mackerel-agent-injector inject --check -k fleet/test`;";
        assert!(several.stderr.contains(commands), "{}", several.stderr);
        fs::remove_dir_all(&other).unwrap();
        let rbac = user.runs(injector, &["rbac", "-k", "fleet/prod"]);
        assert!(rbac.contains("namespace: shop"), "{rbac}");
        let explanation = user.runs(injector, &["explain", "-k", "fleet/prod"]);
        assert!(explanation.contains("Deployment/shop/prod-web"));
    }
}

#[test]
fn k_passes_arguments_and_shows_the_words_of_kustomize() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let user = user_with(&OVERLAY, &kustomize);
    let injector = Path::new(PROGRAM);
    let outside = "resources: [../base/web.yaml]\n";
    fs::write(user.path("fleet/prod/kustomization.yaml"), outside).unwrap();
    let inject = ["inject", "-k", "fleet/prod"];
    let refused = user.tries(injector, &inject);
    assert_eq!((refused.code, &*refused.stdout), (2, ""));
    assert_eq!(refused.stderr.matches("error: ").count(), 1);
    assert!(
        refused
            .stderr
            .contains("kustomize build fleet/prod: Error: ")
            && refused.stderr.contains("is not in or below"),
        "{}",
        refused.stderr
    );
    // The author of a pull request sees the report alone.
    let report = ["inject", "--check", "-o", "github", "-k", "fleet/prod"];
    let report = user.tries(injector, &report);
    assert_eq!(report.code, 2);
    assert!(
        report
            .stdout
            .starts_with("::error title=error::kustomize build fleet/prod: Error: "),
        "{}",
        report.stdout
    );
    for several in [
        "--enable-helm --network",
        "--load-restrictor=LoadRestrictionsNone -e A",
    ] {
        let option = format!("--kustomize-args={several}");
        let ran = user.tries(injector, &["explain", "-k", "fleet/prod", &option]);
        let help = format!(
            "; for several arguments, write `--kustomize-args={}`\n",
            several.replace(' ', " --kustomize-args=")
        );
        assert!(
            ran.code == 2 && ran.stderr.contains(&help),
            "{}",
            ran.stderr
        );
    }
    for output in ["-o", "-oall.yaml", "--output", "--output=all.yaml"] {
        let option = format!("--kustomize-args={output}");
        let ran = user.tries(injector, &["rbac", "-k", "fleet/prod", &option]);
        let error = "kustomize would write to a file";
        assert!(
            ran.code == 2 && ran.stderr.contains(error),
            "{}",
            ran.stderr
        );
    }
    let option = "--kustomize-args=--load-restrictor=LoadRestrictionsNone";
    let args = [&["inject", "--check", "-k", "fleet/prod"][..], &[option]].concat();
    let checked = user.tries(injector, &args).stderr;
    let rbac = format!(
        "`mackerel-agent-injector rbac -n NAMESPACE {option} -k fleet/prod | kubectl apply -f -`"
    );
    assert!(checked.contains(&rbac), "{checked}");
    // kustomize warns of each kustomization in the same words.
    for (directory, resource) in [("base", "web.yaml"), ("prod", "../base")] {
        let deprecated = format!("commonLabels: {{team: shop}}\nresources: [{resource}]\n");
        let file = format!("fleet/{directory}/kustomization.yaml");
        fs::write(user.path(&file), deprecated).unwrap();
    }
    let warned = user.tries(injector, &inject).stderr;
    assert_eq!(warned.matches("'commonLabels' is deprecated").count(), 1);
    let in_place = user.tries(injector, &["inject", "-i", "-k", "fleet/prod"]);
    assert_eq!(in_place.code, 2);
    assert!(
        in_place
            .stderr
            .contains("no file has what kustomize builds")
    );
    let no_directory = user.tries(injector, &["inject", "-k", "fleet"]);
    assert_eq!(no_directory.code, 2);
    assert!(
        no_directory
            .stderr
            .contains("fleet: not a directory with a kustomization.yaml")
    );
}

#[test]
fn k_runs_kubectl_where_there_is_no_kustomize() {
    let Some(kubectl) = tools::find("kubectl", "1.") else {
        return;
    };
    let user = user_with(&OVERLAY, Path::new("/nonexistent"));
    fs::remove_file(user.path("tools/kustomize")).unwrap();
    user.has("kubectl", &kubectl);
    let injected = user.runs(Path::new(PROGRAM), &["inject", "-k", "fleet/prod"]);
    assert!(injected.contains("name: prod-web") && injected.contains("value: shop:web"));
}

/// The build injects the agent itself, so `-k` would inject it a second time, by another configuration.
#[test]
fn k_stops_at_a_transformer_and_its_command_checks_the_build() {
    let Some(kustomize) = tools::find("kustomize", "5.8.") else {
        return;
    };
    let user = user_with(&OVERLAY, &kustomize);
    for overlay in ["production", "development"] {
        let directory = format!("examples/kustomize/overlays/{overlay}");
        let check = ["inject", "--check", "-k", &directory];
        let stopped = user.tries(Path::new(PROGRAM), &check);
        assert_eq!((stopped.code, &*stopped.stdout), (2, ""));
        let command = stopped.stderr.split('`').rev().nth(1).unwrap().to_owned();
        assert!(command.contains("inject --check --config"), "{command}");
        let checked = user.tries(Path::new("sh"), &["-c", &command]);
        assert_eq!(checked.code, 0, "{command}: {}", checked.stderr);
        assert!(
            checked.stderr.contains("2 up to date"),
            "{}",
            checked.stderr
        );
    }
    // The build gives the namespace, so it is named where that counts.
    let rbac = ["rbac", "examples/kustomize"];
    let printed = user.tries(Path::new(PROGRAM), &rbac).stderr;
    let mut words = printed.split('`');
    let command = words
        .find(|word| word.contains("injector rbac --config"))
        .unwrap();
    let permissions = user.runs(Path::new("sh"), &["-c", command]);
    assert!(permissions.contains("kind: ClusterRole"), "{permissions}");
}
