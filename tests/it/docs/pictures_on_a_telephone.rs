//! The pictures of both books on a narrow page, in a real browser.

use super::{LANGUAGES, books, page, pictures};
use crate::browser::Browser;
use crate::tools;
use serde_json::json;

/// Text of a picture that is made to fit would be too small to be read. The page does not become wider than the screen.
#[test]
fn on_a_telephone_each_picture_keeps_its_size() {
    const WIDTH: u32 = 400;
    let Some(mdbook) = tools::find("mdbook", "") else {
        return;
    };
    if !tools::on_path(&["chromedriver"]) {
        return;
    }
    let browser = Browser::start();
    browser.resize(WIDTH, 800);
    let script = "const shown = [...document.querySelectorAll('main img')].filter(img => img.getClientRects().length);
        return [shown.map(img => [img.width, img.naturalWidth]), document.documentElement.scrollWidth]";
    for language in LANGUAGES {
        let built = tempfile::tempdir().unwrap();
        books::build(&mdbook, language, built.path());
        let mut seen = 0;
        for page in page::all() {
            let name = page
                .path
                .strip_prefix(&format!("docs/{language}/"))
                .and_then(|name| name.strip_suffix(".md"));
            let Some(name) = name else { continue };
            if !page.prose().iter().any(|(_, line)| line.starts_with("![")) {
                continue;
            }
            browser.open(&format!("file://{}/{name}.html", built.path().display()));
            let (sizes, width): (Vec<(u32, u32)>, u32) =
                serde_json::from_value(browser.run(script, &json!([]))).unwrap();
            assert!(
                sizes.iter().all(|(shown, own)| shown == own),
                "{name}: {sizes:?}"
            );
            assert!(width <= WIDTH, "{name}: {width}");
            seen += sizes.len();
        }
        assert!(seen >= pictures::words().len(), "{language}: {seen}");
    }
}
