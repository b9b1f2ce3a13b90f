//! Any text: the laws hold for it, as the tests state them. Seeds: the inputs of `tests/cases`.
#![no_main]

#[path = "../../tests/it/laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| laws::hold_for_any_text(text));
