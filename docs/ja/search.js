// mdBook's index has the words between blanks. Japanese has none, so the text is searched for the terms as they are typed.

// What readers type, and the word of this book.
const WORDS = {
  "メトリクス": "メトリック",
  "名前空間": "namespace",
  "メモリー": "メモリ",
  "バージョンアップ": "更新",
  "アップグレード": "更新",
  "アップデート": "更新",
  "インストール方法": "インストール",
  "価格": "料金",
  "しきい値": "閾値",
  "シークレット": "secret",
  "ジョブ": "job",
  "ポッド": "pod",
};

const search = function (query) {
  const terms = query.toLowerCase().split(/[\s\u3000]+/).filter(term => term !== "");
  const has = (text, term) => text.includes(term) || WORDS[term] !== undefined && text.includes(WORDS[term]);
  const found = [];
  for (const [ref, doc] of Object.entries(this.documentStore.docs)) {
    const title = doc.title.toLowerCase();
    const text = `${doc.breadcrumbs} ${doc.body}`.toLowerCase();
    if (terms.every(term => has(text, term))) {
      found.push({ ref, doc, score: terms.filter(term => has(title, term)).length });
    }
  }
  return found.sort((one, other) => other.score - one.score);
};

// After a reload, Back or a link with a search, mdBook searches as soon as its index is there, which may be before any later script.
// So this one runs first, and changes the library when it arrives.
let library;
Object.defineProperty(window, "elasticlunr", {
  configurable: true,
  get: () => library,
  set: value => {
    library = value;
    library.Index.prototype.search = search;
  },
});
