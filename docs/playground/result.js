// The result in its four views, with the proof and the findings above it.
import { answer, policy } from "./playground.js";
import { button, choice, element, label, prose, tabs } from "./elements.js";
import { comparison, proof } from "./proof.js";
import { sentenceOf } from "./reasons.js";
import { words } from "./words.js";

// More than these would only be slow.
const MAX_LINES = 5000;
const MAX_FINDINGS = 200;
const CLASSES = { "+": "added", "-": "removed", "@": "hunk" };

// One element for each line, so that a long one wraps behind its sign.
function lines(text, classes = {}) {
  const all = text.replace(/\n$/, "").split("\n");
  const shown = all.slice(0, MAX_LINES).map((line) => element("span", { className: classes[line[0]] ?? "" }, line));
  if (all.length > MAX_LINES) {
    shown.push(element("em", {}, words.more(all.length - MAX_LINES)));
  }
  return shown;
}

const pretty = (value) => lines(JSON.stringify(value, null, 2));

// Returns what a view shows: lines, the proof or other sentences, and findings.
const VIEWS = {
  diff({ report, command }) {
    // The first two lines name the file.
    const diff = report.diff?.split("\n").slice(2).join("\n");
    return { shown: diff ? lines(diff, CLASSES) : [], sentences: proof(report, command), findings: report.findings };
  },

  patch({ report, command }) {
    const patches = (report.patch ?? "").split("\n").filter(Boolean);
    const shown = patches.flatMap((patch) => pretty(JSON.parse(patch)));
    return { shown, sentences: proof(report, command), findings: report.findings };
  },

  webhook({ report, manifest, configuration, command, template }) {
    if (!report.templates.length) {
      const sentences = report.result === undefined ? proof(report, command) : [words.noTemplate];
      return { shown: [], sentences, findings: report.findings };
    }
    const { response, findings = [], ...review } = JSON.parse(answer(manifest, configuration, template));
    if (!response) {
      return { shown: [], sentences: [words.failed(findings.length)], findings };
    }
    if (response.patch) {
      const bytes = Uint8Array.from(atob(response.patch), (char) => char.charCodeAt(0));
      response.patch = JSON.parse(new TextDecoder().decode(bytes));
    }
    const same = comparison(report.templates[template].patch, response.patch ?? null);
    return { shown: pretty({ ...review, response }), sentences: [...same, words.answered], findings };
  },

  policy({ configuration }) {
    const { text, notes = [], findings = [] } = JSON.parse(policy(configuration));
    const told = notes.map((note) => ({ severity: note.split(":")[0], text: note }));
    const sentences = [text ? words.policyOf : words.failed(findings.length)];
    return { shown: text ? lines(text) : [], sentences, findings: [...findings, ...told] };
  },
};

function finding({ severity, id, line, text }, goTo) {
  const item = element("li", { className: `severity-${severity}` });
  if (id) {
    item.append(element("a", { href: `reasons.html#${id}` }, `${severity}[${id}]`), " ");
  }
  if (line) {
    item.append(button(words.line(line), () => goTo(line, id)), " ");
  }
  const told = sentenceOf(id);
  if (told) {
    item.append(element("strong", {}, told), " ");
  }
  // An excerpt of the configuration has lines.
  item.append(id ? element("span", { lang: "en" }, ...prose(text)) : element("pre", { lang: "en" }, text));
  return item;
}

// `onview` and `ontemplate` are called with a choice, `goTo` with a line and the id of a finding, which those of a configuration lack.
export function result({ onview, ontemplate, goTo }) {
  const output = element("div", { className: "output", id: "output", tabIndex: 0, role: "tabpanel" });
  const status = element("p", { className: "proof", role: "status" });
  const findings = element("ul", { className: "findings", ariaLabel: words.findings });
  const panels = Object.fromEntries(Object.keys(VIEWS).map((view) => [view, output]));
  const { bar, select } = tabs(words.result, words.views, panels, onview);
  const templates = element("div", { className: "templates" });
  const box = element(
    "section",
    { className: "result", id: "result", ariaLabel: words.result },
    bar,
    status,
    findings,
    templates,
    output,
  );

  function chooseTemplate({ report, view, template }) {
    templates.hidden = view !== "webhook" || report.templates.length < 2;
    const names = report.templates.map(({ name, template }) => `${name} ${template}`);
    const list = choice({ ...names }, (index) => ontemplate(Number(index)));
    list.value = template;
    templates.replaceChildren(label(words.template, list));
  }

  function show(inputs) {
    const { shown, sentences, findings: told } = VIEWS[inputs.view](inputs);
    select(inputs.view);
    const [first, ...others] = sentences;
    status.replaceChildren(element("strong", {}, ...prose(first)), ...others.flatMap((other) => [" ", ...prose(other)]));
    status.classList.toggle("failed", told.some(({ severity }) => severity === "error"));
    findings.replaceChildren(...told.slice(0, MAX_FINDINGS).map((one) => finding(one, goTo)));
    if (told.length > MAX_FINDINGS) {
      findings.append(element("li", {}, words.more(told.length - MAX_FINDINGS)));
    }
    output.replaceChildren(...shown);
    output.hidden = !shown.length;
    output.scrollTop = 0;
    chooseTemplate(inputs);
  }

  return { box, show };
}
