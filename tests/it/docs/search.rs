//! The search of the Japanese book, in a real browser.

use super::books;
use crate::browser::Browser;
use crate::http_server::serve;
use crate::tools;
use serde_json::json;
use std::path::Path;

/// Words of this book, and words that readers type for them.
const TERMS: [&str; 12] = [
    "トークン",
    "監視ルール",
    "アンインストール",
    "OpenTelemetry",
    "料金",
    "メトリクス",
    "名前空間",
    "メモリー",
    "バージョンアップ",
    "インストール方法",
    "しきい値",
    "シークレット",
];

struct Book(Browser);

impl Book {
    /// Returns the number of hits that the page shows for a term.
    fn hits(&self, term: &str) -> u64 {
        let script = "const [found] = document.querySelectorAll('#mdbook-searchresults-header');
            return found.innerText.includes(arguments[0]) ? document.querySelectorAll('#mdbook-searchresults > li').length : 0";
        self.0.run(script, &json!([term])).as_u64().unwrap()
    }

    /// Does what leads to another page, and waits for the hits there.
    fn leave(&self, leave: fn(&Browser)) {
        self.0
            .run("document.documentElement.className += ' left'", &json!([]));
        leave(&self.0);
        self.0
            .wait_for("html:not(.left) #mdbook-searchresults > li");
    }
}

#[test]
fn the_japanese_search_finds_the_same_after_a_reload_back_and_by_a_link() {
    let Some(mdbook) = tools::find("mdbook", "") else {
        return;
    };
    if !tools::on_path(&["chromedriver"]) {
        return;
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("search");
    books::build(&mdbook, "ja", &built);
    let site = serve(&built);
    let book = Book(Browser::start());
    book.0.open(&format!("{site}/getting-started.html"));
    book.0.run(
        "document.querySelector('#mdbook-search-toggle').click()",
        &json!([]),
    );
    for term in TERMS {
        book.0.run(
            "document.querySelector('#mdbook-searchbar').value = ''",
            &json!([]),
        );
        book.0.type_into("#mdbook-searchbar", term);
        book.0.wait_for("#mdbook-searchresults > li");
        assert!(book.hits(term) > 0, "{term}");
    }
    let term = TERMS[0];
    book.0.run(
        "document.querySelector('#mdbook-searchbar').value = ''",
        &json!([]),
    );
    book.0.type_into("#mdbook-searchbar", term);
    let hits = book.hits(term);
    assert!(hits > 5, "{hits}");
    for _ in 0..4 {
        book.leave(Browser::reload);
        assert_eq!(book.hits(term), hits, "after a reload");
        // The page of the hit shows no results, so the text is waited for.
        book.0.click_on("#mdbook-searchresults a");
        book.0.wait_for("mark");
        book.leave(Browser::back);
        assert_eq!(book.hits(term), hits, "after Back");
    }
    // A link that a reader sends to a colleague.
    book.0.open("about:blank");
    book.0.open(&format!("{site}/faq.html?search={term}"));
    book.0.wait_for("#mdbook-searchresults > li");
    assert_eq!(book.hits(term), hits, "by a link");
}
