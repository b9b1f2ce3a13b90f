//! The fuzz targets `read`, `config` and `review`, over their seeds; `inject` is in `laws.rs`, and its seeds are the cases.

mod configuration;
mod reader;
mod review;

use support::corpus::Files;
use support::root;

fn seeds(target: &str) -> Vec<String> {
    let folder = root().join("fuzz/seeds").join(target);
    let texts: Vec<String> = Files::below(&folder)
        .map(|(_, bytes)| String::from_utf8(bytes).unwrap())
        .collect();
    assert!(texts.len() > 3, "{target}: {} seeds", texts.len());
    texts
}

#[test]
fn the_reader_holds_for_the_seeds_of_its_fuzz_target() {
    seeds("read").iter().for_each(|text| reader::hold(text));
}

#[test]
fn the_configuration_holds_for_the_seeds_of_its_fuzz_target() {
    seeds("config")
        .iter()
        .for_each(|text| configuration::hold(text));
}

#[test]
fn an_admission_review_holds_for_the_seeds_of_its_fuzz_target() {
    seeds("review").iter().for_each(|text| review::hold(text));
}
