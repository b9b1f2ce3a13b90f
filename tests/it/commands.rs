//! Commands as a user types them and what they print: `tests/cmd`. `TRYCMD=overwrite` writes what is printed now.

#[test]
fn commands_print_what_the_pages_say() {
    trycmd::TestCases::new().case("tests/cmd/*.md");
}
