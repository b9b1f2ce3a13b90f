// mdBook's index has the words between blanks. Japanese has none, so the text is searched for the terms as they are typed.
window.elasticlunr.Index.prototype.search = function (query) {
  const terms = query.toLowerCase().split(/[\s\u3000]+/).filter(term => term !== "");
  const found = [];
  for (const [ref, doc] of Object.entries(this.documentStore.docs)) {
    const title = doc.title.toLowerCase();
    const text = `${doc.breadcrumbs} ${doc.body}`.toLowerCase();
    if (terms.every(term => text.includes(term))) {
      found.push({ ref, doc, score: terms.filter(term => title.includes(term)).length });
    }
  }
  return found.sort((one, other) => other.score - one.score);
};
