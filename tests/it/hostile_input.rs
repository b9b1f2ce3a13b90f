//! Hostile input: a clear answer, without delay, with memory in proportion to the input.

use mackerel_agent_injector::config::Config;
use mackerel_agent_injector::engine::inject;
use mackerel_agent_injector::manifest::list;
use mackerel_agent_injector::manifest::prefilter::{Prefilter, prefilter};
use mackerel_agent_injector::options::{Direction, Options};
use yaml_json_patch as yaml;
use yaml_json_patch::documents;

const TOO_DEEP: &str = "the document is nested more than 255 levels deep";

#[test]
fn a_hundred_thousand_brackets() {
    for text in [
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        format!("a: {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        "- ".repeat(100_000),
        (0..2_000).map(|depth| format!("{:depth$}a:\n", "")).collect(),
    ] {
        assert_eq!(yaml::read(&text).map(|_| ()).map_err(|error| error.message), Err(TOO_DEEP.to_owned()));
        assert!(list::cut(&text).is_none());
        assert_eq!(prefilter(&text, |_| false), Prefilter::Parse { kind: None });
    }
}

#[test]
fn the_deepest_that_is_read() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(yaml::read(&nested(255)).is_ok());
    assert!(yaml::read(&nested(256)).is_err());
    // Block and flow count together.
    assert!(yaml::read(&format!("a: {}", nested(254))).is_ok());
    assert!(yaml::read(&format!("a: {}", nested(255))).is_err());
}

#[test]
fn a_scalar_of_twenty_megabytes() {
    let long = "x".repeat(20 << 20);
    for text in [format!("a: {long}\n"), format!("a: \"{long}\"\n"), format!("a: |\n  {long}\n")] {
        let tree = yaml::read(&text).unwrap();
        let value = tree.get(tree.root().unwrap(), "a").unwrap();
        assert_eq!(tree.scalar(value).unwrap().trim_end().len(), long.len());
    }
    let lines = format!("a: |\n{}", "  x\n".repeat(5 << 20));
    let tree = yaml::read(&lines).unwrap();
    assert_eq!(tree.scalar(tree.get(tree.root().unwrap(), "a").unwrap()).unwrap().len(), 2 * (5 << 20));
}

#[test]
fn a_million_documents() {
    let text = "---\nkind: A\n".repeat(1_000_000);
    let mut buffer = yaml::Buffer::default();
    let mut count = 0;
    for document in documents(&text) {
        yaml::read_into(&text[document.span], &mut buffer).unwrap().recycle(&mut buffer);
        count += 1;
    }
    assert_eq!(count, 1_000_000);
    // Nothing between the markers, and dashes that are none.
    assert_eq!(documents(&"---\n".repeat(1_000_000)).count(), 1_000_000);
    assert_eq!(documents(&"-".repeat(10_000_000)).count(), 1);
    assert_eq!(documents(&format!("{}---\n", "# c\n".repeat(1_000_000))).count(), 1);
}

#[test]
fn a_list_of_a_million_items() {
    let text = format!("kind: List\nitems:\n{}", "- a: 1\n".repeat(1_000_000));
    assert_eq!(list::cut(&text).unwrap().items.len(), 1_000_000);
}

#[test]
fn tens_of_thousands_of_anchors_and_aliases() {
    let anchors: String = (0..20_000).map(|number| format!("- &a{number} 1\n")).collect();
    let aliases: String = (0..20_000).map(|number| format!("- *a{number}\n")).collect();
    assert!(yaml::read(&format!("{anchors}{aliases}")).is_ok());
    assert!(yaml::read_fast(&format!("{anchors}{aliases}")).is_none(), "each would be searched for among all");
}

/// An algorithm that takes a step for each pair of them would take minutes here.
#[test]
fn many_of_what_is_looked_at_in_search_of_templates() {
    let of_each = |count: usize, what: &dyn Fn(usize) -> String| (0..count).map(what).collect::<String>();
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n";
    let custom = "apiVersion: example.com/v1\nkind: Foo\n";
    let template = "{spec: {containers: [{name: a, image: a:1}]}}";
    let job_set = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n";
    let job = "template: {spec: {template: {spec: {containers: [{name: a, image: a:1}]}}}}";
    let pod_item = "apiVersion: v1\n  kind: Pod\n  spec:\n    containers:\n    - name: a\n      image: a:1\n";
    // Taken as a whole because of its anchor.
    let list = "kind: List\nmetadata: &m {}\nother: *m\nitems:\n";
    let key = |number: usize| format!("  k{number}: 1\n");
    let pod = "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        image: a:1\n";
    for text in [
        format!("{deployment}    {}\n{pod}", "\t".repeat(400_000)),
        format!("{deployment}{}spec:\n{}", "spec: 1\n".repeat(30_000), of_each(30_000, &key)),
        format!("{deployment}{}spec: 1\n", format!("spec: {{template: {template}}}\n").repeat(20_000)),
        format!("{deployment}{}", of_each(20_000, &|number| format!("k{number}: {template}\n"))),
        format!("{custom}{}", of_each(20_000, &|number| format!("k{number}: {template}\n"))),
        format!("{list}{}", of_each(20_000, &|number| format!("- {{kind: ConfigMap, data: {{k: v{number}}}}}\n"))),
        format!(
            "{list}{}",
            of_each(20_000, &|number| format!("- {{kind: Pod, kind: ConfigMap, data: {{k: v{number}}}}}\n"))
        ),
        format!(
            "{job_set}x: &x\n{}spec: {{replicatedJobs: *x}}\n{}spec: 1\n",
            of_each(10_000, &|_| format!("- {job}\n")),
            "spec: {replicatedJobs: *x}\n".repeat(10_000)
        ),
        format!(
            "{job_set}spec:\n  replicatedJobs:\n  - &a\n{}    template: 1\n{}",
            of_each(10_000, &|_| format!("    {job}\n")),
            "  - *a\n".repeat(10_000)
        ),
        format!("{list}{}- {}    \t\n", of_each(20_000, &|_| format!("- {pod_item}")), pod_item),
        format!("{custom}base: &b\n{}list:\n{}# containers\n", of_each(20_000, &key), "- {<<: *b}\n".repeat(20_000)),
        // Manifests in one line of JSON, lists that share their items, and documents that hide a template each.
        format!(
            "{{{}\"kind\": \"Pod\"}}\n",
            r#""apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "#.repeat(20_000)
        ),
        format!(
            "kind: List\nx: &x\n{}{}items: []\n",
            "- {apiVersion: v1, kind: Pod}\n".repeat(10_000),
            "items: *x\n".repeat(10_000)
        ),
        format!("{deployment}{pod}spec: 1\n---\n").repeat(20_000),
    ] {
        for direction in [Direction::Inject, Direction::Uninject] {
            let injection = inject(&text, &Config::default(), Options::new(direction));
            assert_eq!(crate::laws::fault(&injection), None);
        }
    }
}
