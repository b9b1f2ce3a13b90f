//! The generated files `docs/config/schema.json` and `docs/config/example.yaml`, which the program contains.

mod example;
pub(super) mod patterns;
mod schema;

use crate::{EXAMPLE, SCHEMA};

#[test]
fn the_files_are_those_of_the_types() {
    let schema = format!("{:#}\n", schema::schema());
    for (name, wanted, found) in [
        ("schema.json", schema, SCHEMA),
        ("example.yaml", example::example(), EXAMPLE),
    ] {
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config/");
            std::fs::write(format!("{folder}{name}"), wanted).unwrap();
        } else {
            assert!(
                wanted == found,
                "{name} is out of date: run this test with UPDATE_EXPECTED=1, then those of other generated files"
            );
        }
    }
}
