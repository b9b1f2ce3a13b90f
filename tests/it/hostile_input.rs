//! Hostile input: a clear answer, without delay, with memory in proportion to the input.

use crate::growth::shapes::{Input, SHAPES};
use config::Config;
use injector::{Direction, Options, inject};
use manifest::prefilter::prefilter;
use manifest::{Prefilter, list};
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
        (0..2_000)
            .map(|depth| format!("{:depth$}a:\n", ""))
            .collect(),
    ] {
        assert_eq!(
            yaml::read(&text).map(|_| ()).map_err(|error| error.message),
            Err(TOO_DEEP.to_owned())
        );
        assert!(list::cut(&text, 0..text.len()).is_none());
        assert_eq!(
            prefilter(&text, |_, _| false),
            Prefilter::Parse { kind: None }
        );
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
    for text in [
        format!("a: {long}\n"),
        format!("a: \"{long}\"\n"),
        format!("a: |\n  {long}\n"),
    ] {
        let tree = yaml::read(&text).unwrap();
        let value = tree.get(tree.root().unwrap(), "a").unwrap();
        assert_eq!(tree.scalar(value).unwrap().trim_end().len(), long.len());
    }
    let lines = format!("a: |\n{}", "  x\n".repeat(5 << 20));
    let tree = yaml::read(&lines).unwrap();
    assert_eq!(
        tree.scalar(tree.get(tree.root().unwrap(), "a").unwrap())
            .unwrap()
            .len(),
        2 * (5 << 20)
    );
}

#[test]
fn a_million_documents() {
    let text = "---\nkind: A\n".repeat(1_000_000);
    let mut buffer = yaml::Buffer::default();
    let mut count = 0;
    for document in documents(&text) {
        yaml::read_into(&text[document.span], &mut buffer)
            .unwrap()
            .recycle(&mut buffer);
        count += 1;
    }
    assert_eq!(count, 1_000_000);
    // Nothing between the markers, and dashes that are none.
    assert_eq!(documents(&"---\n".repeat(1_000_000)).count(), 1_000_000);
    assert_eq!(documents(&"-".repeat(10_000_000)).count(), 1);
    assert_eq!(
        documents(&format!("{}---\n", "# c\n".repeat(1_000_000))).count(),
        1
    );
}

#[test]
fn a_list_of_a_million_items() {
    let text = format!("kind: List\nitems:\n{}", "- a: 1\n".repeat(1_000_000));
    assert_eq!(
        list::cut(&text, 0..text.len()).unwrap().items.len(),
        1_000_000
    );
}

#[test]
fn tens_of_thousands_of_anchors_and_aliases() {
    let anchors: String = (0..20_000)
        .map(|number| format!("- &a{number} 1\n"))
        .collect();
    let aliases: String = (0..20_000)
        .map(|number| format!("- *a{number}\n"))
        .collect();
    assert!(yaml::read(&format!("{anchors}{aliases}")).is_ok());
    assert!(
        yaml::read_fast(&format!("{anchors}{aliases}")).is_none(),
        "each would be searched for among all"
    );
}

/// The module `growth` measures how long they take.
#[test]
fn what_can_be_multiplied_is_injected_without_a_fault() {
    for (shape, text) in SHAPES.iter().filter_map(|shape| match shape.input {
        Input::Text(text) => Some((shape, text(shape.least))),
        Input::Other(_) => None,
    }) {
        for direction in [Direction::Inject, Direction::Uninject] {
            let injection = inject(&text, &Config::default(), Options::new(direction));
            assert_eq!(laws::fault(&injection), None, "{}", shape.name);
        }
    }
}
