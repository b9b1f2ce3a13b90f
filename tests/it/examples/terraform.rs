//! `examples/terraform`: the arguments of its releases, given to the Helm that the provider has built in.

use super::{EXAMPLES, examples, read, types, yaml};
use crate::docs::page::Page;
use crate::kubernetes::cluster::cluster;
use crate::real_tools::{User, documents};
use crate::tools;
use std::path::Path;

/// The file of a release, and its folder as Terraform puts it in where it runs there.
struct Release {
    folder: &'static str,
    text: String,
}

impl Release {
    fn of(folder: &'static str) -> Self {
        let text = read(&format!("terraform/{folder}/main.tf"));
        Self { folder, text }
    }

    /// The strings of an argument: `args = ["a", "b"]` -> `a`, `b`
    fn strings(&self, argument: &str) -> Vec<String> {
        let values: Vec<&str> = self
            .text
            .lines()
            .filter_map(|line| line.split_once(" = "))
            .filter(|(name, _)| name.trim() == argument)
            .map(|(_, value)| value)
            .collect();
        let [value] = values[..] else {
            panic!("{argument}: {values:?}")
        };
        let strings = value.split('"').skip(1).step_by(2);
        strings
            .map(|string| string.replace("${path.module}", "."))
            .collect()
    }

    fn string(&self, argument: &str) -> String {
        let [string] = &self.strings(argument)[..] else {
            panic!("{argument} in {}", self.folder)
        };
        string.clone()
    }

    /// The chart, which lies in the repository.
    fn chart(&self) -> String {
        let folder = examples().join("terraform").join(self.folder);
        let chart = folder.join(self.string("chart")).canonicalize().unwrap();
        assert!(chart.join("Chart.yaml").is_file(), "{}", chart.display());
        chart.to_str().unwrap().to_owned()
    }
}

#[test]
fn both_pin_one_version_of_the_provider_which_the_readme_names() {
    let [renderer, webhook] = ["post-renderer", "webhook"].map(Release::of);
    let version = renderer.string("version");
    assert_eq!(version, webhook.string("version"));
    assert!(
        version.split('.').count() == 3
            && version
                .chars()
                .all(|part| part == '.' || part.is_ascii_digit()),
        "{version}"
    );
    for readme in ["README.md", "README.ja.md"] {
        assert!(read(&format!("terraform/{readme}")).contains(&version));
    }
}

#[test]
fn the_post_renderer_gives_what_the_example_of_helm_gives() {
    let Some(helm) = tools::find("helm", "3.") else {
        return;
    };
    let release = Release::of("post-renderer");
    let user = User::new();
    user.has("helm", &helm);
    let arguments: String = release
        .strings("args")
        .iter()
        .map(|argument| format!(" '--post-renderer-args={argument}'"))
        .collect();
    let command = format!(
        "cd examples/terraform/{}\nhelm template {} {} --namespace {} --post-renderer {}{arguments}",
        release.folder,
        release.string("name"),
        release.chart(),
        release.string("namespace"),
        release.string("binary_path"),
    );
    let said = types(&user, &command);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let example = EXAMPLES
        .iter()
        .find(|example| example.diff == "helm/expected.helm3.diff")
        .unwrap();
    let (_, _, expected) = example.shown().unwrap().remove(0);
    assert_eq!(said.stdout, expected);
    let linked = |readme: &str| Page::read(readme).links().into_iter();
    assert!(
        linked("examples/terraform/README.md")
            .any(|(_, link)| link == format!("../{}", example.diff))
    );
}

/// With the default `tls.mode`, which asks the cluster for its certificate.
#[test]
fn the_webhook_is_installed_by_its_values() {
    let (Some(helm), Some(cluster)) = (tools::find("helm", "3."), cluster()) else {
        return;
    };
    let release = Release::of("webhook");
    let user = User::new().with("KUBECONFIG", cluster.kubeconfig());
    let values = format!("examples/terraform/webhook/{}", release.string("values"));
    let printed = user.runs(
        Path::new(&helm),
        &[
            "install",
            &release.string("name"),
            &release.chart(),
            "--namespace",
            &release.string("namespace"),
            "--create-namespace",
            "--dry-run=server",
            "--values",
            &values,
        ],
    );
    let (_, manifest) = printed.split_once("MANIFEST:\n").unwrap();
    let (manifest, _) = manifest.split_once("\nNOTES:\n").unwrap();
    let objects = documents(manifest);
    let of_kind = |kind: &str| {
        let mut found = objects.iter().filter(|object| object["kind"] == kind);
        found.next().unwrap_or_else(|| panic!("{kind}: {manifest}"))
    };
    let values = yaml(&read("terraform/webhook/values.yaml"));
    let webhook = &of_kind("MutatingWebhookConfiguration")["webhooks"][0];
    assert_eq!(
        webhook["namespaceSelector"]["matchLabels"],
        values["webhook"]["namespaceSelector"]["matchLabels"]
    );
    assert!(webhook["clientConfig"]["caBundle"].is_string());
    let image = &of_kind("Deployment")["spec"]["template"]["spec"]["containers"][0]["image"];
    let repository = values["image"]["repository"].as_str().unwrap();
    assert!(image.as_str().unwrap().starts_with(repository), "{image:?}");
}
