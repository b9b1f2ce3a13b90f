//! Commands as a user types them, and their output: `tests/cmd`. `TRYCMD=overwrite` writes the output anew.

#[test]
fn commands_print_what_the_pages_say() {
    let pages = trycmd::TestCases::new();
    pages.case("tests/cmd/usage.md");
    // Where the program has every command.
    #[cfg(all(unix, feature = "webhook"))]
    pages.case("tests/cmd/help.md");
}
