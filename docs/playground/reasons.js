// The first sentence of each decision and warning in the language of the book, from its own page; in English the injector says it.
import { language } from "./words.js";

const sentences = new Map();

export async function loadSentences() {
  if (language === "en") {
    return;
  }
  const page = await (await fetch("reasons.html")).text();
  const parsed = new DOMParser().parseFromString(page, "text/html");
  for (const heading of parsed.querySelectorAll("h3[id]")) {
    const next = heading.nextElementSibling;
    // Behind some headings, the cause comes first.
    if (next?.tagName === "P" && !next.querySelector("strong")) {
      sentences.set(heading.id, `${next.textContent}。`);
    }
  }
}

export const sentenceOf = (id) => sentences.get(id);
