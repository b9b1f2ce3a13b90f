//! The pictures of both books: `docs/pictures` has a template of each, the style of all, and the words in both languages.

use super::LANGUAGES;
use super::page::{self, root};
use serde_json::Value;
use std::fs;

fn words() -> serde_json::Map<String, Value> {
    let text = fs::read_to_string(root().join("docs/pictures/words.yaml")).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

#[test]
fn each_picture_is_its_template_with_the_words_of_the_language() {
    let style = fs::read_to_string(root().join("docs/pictures/style.css")).unwrap();
    for (name, words) in words() {
        let template =
            fs::read_to_string(root().join(format!("docs/pictures/{name}.svg"))).unwrap();
        for language in LANGUAGES {
            let mut picture = template.clone();
            for (key, word) in words.as_object().unwrap() {
                let place = format!("{{{key}}}");
                assert!(picture.contains(&place), "{name}: {key} is not used");
                let word = word[language].as_str().unwrap();
                assert!(!word.contains(['<', '&']), "{name}: {word}");
                picture = picture.replace(&place, word);
            }
            picture = picture.replace("{style}", style.trim_end());
            super::expect(&format!("docs/{language}/{name}.svg"), &picture);
        }
    }
}

/// A page shows a picture with a text for those who do not see it.
#[test]
fn each_picture_is_on_a_page_with_an_alternative_text() {
    for name in words().keys() {
        for language in LANGUAGES {
            let shown = page::all().iter().any(|page| {
                page.path.starts_with(&format!("docs/{language}/"))
                    && page.prose().iter().any(|(_, line)| {
                        line.starts_with("![")
                            && !line.starts_with("![]")
                            && line.ends_with(&format!("]({name}.svg)"))
                    })
            });
            assert!(shown, "no page of docs/{language} shows {name}.svg");
        }
    }
}
