// Elements that the parts of the page are made of.

export function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function button(text, onclick) {
  return element("button", { type: "button", onclick }, text);
}

// Words with `code` in them.
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}

export function label(text, control) {
  return element("label", {}, element("span", {}, text), control);
}

// A list to choose from, of values with their words.
export function choice(words, onchange) {
  const options = Object.entries(words).map(([value, word]) => element("option", { value }, word));
  const list = element("select", {}, ...options);
  list.onchange = () => onchange(list.value);
  return list;
}

// Tabs for panels with these words; arrow keys go from one to the next. `select` shows one of them without calling `onselect`.
export function tabs(name, words, panels, onselect) {
  const bar = element("div", { className: "tabs", role: "tablist", ariaLabel: name });
  const select = (chosen) => {
    panels[chosen].setAttribute("aria-labelledby", `tab-${chosen}`);
    for (const tab of bar.children) {
      tab.ariaSelected = String(tab.dataset.tab === chosen);
      tab.tabIndex = tab.dataset.tab === chosen ? 0 : -1;
    }
  };
  for (const [key, word] of Object.entries(words)) {
    const tab = element("button", { type: "button", role: "tab", id: `tab-${key}` }, word);
    tab.dataset.tab = key;
    tab.setAttribute("aria-controls", panels[key].id);
    tab.onclick = () => onselect(key);
    bar.append(tab);
  }
  bar.onkeydown = ({ key }) => {
    const shown = [...bar.children].filter((tab) => tab.offsetParent);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (step) {
      const next = shown.at((shown.indexOf(document.activeElement) + step) % shown.length);
      next.focus();
      next.click();
    }
  };
  return { bar, select };
}
