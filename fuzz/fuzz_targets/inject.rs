//! Any text: the laws hold for it, as the tests state them. Seeds: `tests/cases`, by a link. What a fuzzer finds belongs into
//! a folder of its own: give that one first.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| laws::hold_for_any_text(text));
