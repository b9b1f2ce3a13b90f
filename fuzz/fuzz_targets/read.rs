//! See `tests/it/any_text/reader.rs`.
#![no_main]

#[path = "../../tests/it/any_text/reader.rs"]
mod reader;

libfuzzer_sys::fuzz_target!(|text: &str| reader::hold(text));
