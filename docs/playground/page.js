// The page "Try it" of both books: at each change of a text, the injector runs and its result is shown.
// The injector is loaded once, from this folder. Nothing is sent.
import load, { run } from "./playground.js";
import { editor } from "./editor.js";
import { button, choice, element, label, tabs } from "./elements.js";
import { files } from "./files.js";
import { copyLink, linked } from "./link.js";
import { loadSentences } from "./reasons.js";
import { result } from "./result.js";
import { settings } from "./settings.js";
import { store, stored } from "./storage.js";
import { number, words } from "./words.js";

// Bytes of a file.
const MAX_FILE = 1_000_000;
const BEGINNING = {
  configuration: `apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
kind: AgentInjector
spec:
  agent:
    roles: ["shop:web"]
`,
  command: "inject",
  view: "diff",
  tab: "manifest",
  template: 0,
};

const known = (words, word, usual) => (Object.hasOwn(words, word) ? word : usual);

// Makes the page of its parts. `state` is what the tab keeps.
function page(root, state, manifests) {
  const texts = {
    manifest: editor("manifest", words.manifest, words.drop, () => {
      example.value = "";
      typed();
    }),
    configuration: editor("configuration", words.configuration, words.drop, typed),
  };
  const { manifest, configuration } = texts;
  const command = choice(words.commands, () => update());
  const switches = settings(configuration.field, (text) => {
    tell(text === undefined ? words.notSet : "");
    configuration.field.value = text ?? configuration.field.value;
    update();
  });
  const note = element("div", { className: "note", role: "status" });
  const tell = (...told) => note.replaceChildren(...told);
  const shown = result({
    onview: (view) => update({ view }),
    ontemplate: (template) => update({ template }),
    // Findings of the manifest have an id.
    goTo(line, id) {
      const tab = id ? "manifest" : "configuration";
      select(tab);
      texts[tab].goTo(line);
    },
  });
  const panels = Object.fromEntries(
    Object.entries(texts).map(([tab, { box }]) => [tab, element("div", { id: tab, role: "tabpanel" }, box)]),
  );
  const tabWords = { manifest: words.manifest, configuration: words.configuration, result: words.result };
  const sources = tabs(words.texts, tabWords, { ...panels, result: shown.box }, select);

  function select(tab) {
    state.tab = known(tabWords, tab, BEGINNING.tab);
    root.dataset.tab = state.tab;
    sources.select(state.tab);
    if (state.tab in panels) {
      Object.entries(panels).forEach(([name, panel]) => (panel.hidden = name !== state.tab));
    }
    store(state);
  }

  function typed() {
    tell();
    update();
  }

  // Runs the injector on the texts, shows what it says, and stores them.
  function update(chosen = {}) {
    Object.assign(state, chosen, current());
    store(state);
    try {
      const report = JSON.parse(run(state.command, state.manifest, state.configuration));
      state.template = Math.max(0, Math.min(state.template, report.templates.length - 1));
      shown.show({ ...state, report });
      manifest.mark(report.findings.filter(({ id }) => id));
      configuration.mark(report.findings.filter(({ id }) => !id));
      switches.read();
      take.onclick = () => replace({ manifest: report.result });
      take.disabled = !report.diff;
    } catch (error) {
      tell(`${words.broken} ${error}`);
    }
  }

  function current() {
    return { manifest: manifest.field.value, configuration: configuration.field.value, command: command.value };
  }

  function fill(texts) {
    manifest.field.value = texts.manifest;
    configuration.field.value = texts.configuration;
    command.value = known(words.commands, texts.command, BEGINNING.command);
    undo.disabled = !state.before;
    update({ view: known(words.views, texts.view, state.view) });
  }

  // Puts other texts in place of the present ones, which `Undo` brings back.
  function replace(texts, told = "") {
    state.before = current();
    fill({ ...state.before, ...texts });
    example.value = "";
    tell(told);
  }

  async function read(file) {
    if (file.size > MAX_FILE) {
      tell(words.tooLarge(number(MAX_FILE)));
      return;
    }
    const tab = /^agent-injector\.ya?ml$/.test(file.name) ? "configuration" : "manifest";
    replace({ [tab]: await file.text() });
    select(tab);
  }

  async function openLink() {
    try {
      const given = await linked();
      if (given) {
        replace(given);
      }
    } catch {
      tell(words.badLink);
    }
  }

  const example = choice({ "": words.choose, ...words.examples }, (name) => {
    if (name) {
      replace({ manifest: manifests[name], command: name === "by-hand" ? "adopt" : "inject" });
      select("manifest");
      example.value = name;
    }
  });
  const take = button(words.take);
  const undo = button(words.undo, () => replace(state.before, words.undone));
  // The book's keys turn the page, or begin a search.
  root.addEventListener("keydown", (event) => event.stopPropagation());
  document.body.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.stopPropagation();
    }
  });
  addEventListener("hashchange", openLink);

  const copy = button(words.copy, () => copyLink({ ...current(), view: state.view }, tell));
  const actions = element("div", { className: "actions" }, ...files(root, read), take, undo, copy);
  root.replaceChildren(
    element("div", { className: "controls" }, label(words.example, example), label(words.command, command), actions),
    switches.bar,
    note,
    element(
      "div",
      { className: "bench" },
      element("section", { className: "source", ariaLabel: words.texts }, sources.bar, ...Object.values(panels)),
      shown.box,
    ),
  );
  example.value = state.manifest === undefined ? "deployment" : "";
  fill({ manifest: manifests.deployment, ...state });
  select(state.tab);
  openLink();
  // The page works without them.
  loadSentences().then(() => update(), () => {});
}

async function example(name) {
  const file = await fetch(new URL(`examples/${name}.yaml`, import.meta.url));
  return [name, await file.text()];
}

async function begin(root) {
  root.replaceChildren(words.loading);
  try {
    const names = Object.keys(words.examples);
    const [manifests] = await Promise.all([Promise.all(names.map(example)), load()]);
    page(root, { ...BEGINNING, ...stored() }, Object.fromEntries(manifests));
  } catch (error) {
    root.replaceChildren(words.notLoaded);
    throw error;
  }
}

// The whole book on one page, for printing, has this page too.
if (!location.pathname.endsWith("/print.html")) {
  await begin(document.getElementById("playground"));
}
