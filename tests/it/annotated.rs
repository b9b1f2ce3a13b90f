//! Files and kinds from which nothing is injected: what the command line says about them.

use crate::program::{Folder, WEB};

#[test]
fn a_file_that_is_no_text_and_asks_for_nothing_is_a_warning() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: caf";
    let latin = [pod.as_bytes(), b"\xe9}\n"].concat();
    let utf16: Vec<u8> = pod.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let asks = [b"# agent-injector.contrib.mackerel.io/inject\n", &latin[..]].concat();
    let asks_in_utf16: Vec<u8> = "# agent-injector.contrib.mackerel.io/inject\nkind: Pod\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, code) in [(latin, 0), (utf16, 0), (asks, 2), (asks_in_utf16, 2)] {
        let folder = Folder::with(&[("web.yaml", WEB)]);
        std::fs::write(folder.path("pod.yaml"), &bytes).unwrap();
        let run = |more: &[&str]| {
            folder.run(
                &[
                    &["inject"][..],
                    more,
                    &["--set", "injection=annotated", "web.yaml", "pod.yaml"],
                ]
                .concat(),
            )
        };
        let ran = run(&["--check"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert_eq!(
            ran.stderr.contains("warning[unreadable-file]: "),
            code == 0,
            "{ran:?}"
        );
        // On stdout, the manifest would be missing.
        assert_eq!(run(&[]).code, Some(2));
    }
}

#[test]
fn each_kind_without_a_pod_template_is_named_once_under_v() {
    let kafka = "apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: a}\n";
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";
    let files = [
        ("a.yaml", kafka),
        ("b.yaml", service),
        ("c.yaml", &format!("{service}---\n{service}")),
    ];
    let folder = Folder::with(&files);
    let covered = "info: without pod template: 3 Service, 1 kafka.strimzi.io/Kafka";
    let gap = "info: not covered: 1 kafka.strimzi.io/Kafka; their pods get an agent from the webhook or the policy only\n";
    let lines = &format!("{covered}\n{gap}");
    assert!(
        folder
            .run(&["inject", "--diff", "-v", "."])
            .stderr
            .contains(lines)
    );
    let told = folder.run(&["inject", "--diff", "."]).stderr;
    assert!(told.contains(gap) && !told.contains(covered), "{told}");
}
