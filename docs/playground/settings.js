// Switches that write the configuration, and show what it says. The editor of the injector keeps its comments and its layout.
import { set, setting } from "./playground.js";
import { element, label } from "./elements.js";
import { words } from "./words.js";

const HEAD = "apiVersion: agent-injector.contrib.mackerel.io/v1alpha1\nkind: AgentInjector\n";

// `edit` takes the new text of the configuration; nothing if its text cannot be edited.
export function settings(configuration, edit) {
  const write = (path, value) => edit(set(configuration.value.trim() ? configuration.value : HEAD, path, JSON.stringify(value)));
  const readers = [];

  function text(word, path, { placeholder, ofText, toText }) {
    const input = element("input", { type: "text", placeholder, spellcheck: false });
    input.onchange = () => write(path, ofText(input.value.trim()));
    readers.push(() => (input.value = toText(JSON.parse(setting(configuration.value, path)))));
    return label(word, input);
  }

  function toggle(word, path, on) {
    const input = element("input", { type: "checkbox" });
    input.onchange = () => write(path, input.checked ? on : null);
    readers.push(() => (input.checked = JSON.parse(setting(configuration.value, path)) === on));
    return element("label", {}, input, word);
  }

  const list = {
    placeholder: "shop:web",
    ofText: (value) => (value ? value.split(/\s*,\s*/) : null),
    toText: (value) => [value ?? []].flat().join(", "),
  };
  const name = { placeholder: words.usual, ofText: (value) => value || null, toText: (value) => value ?? "" };
  const bar = element(
    "div",
    { className: "settings", role: "group", ariaLabel: words.settings },
    text(words.role, "/spec/agent/roles", list),
    toggle(words.annotated, "/spec/injection", "annotated"),
    toggle(words.native, "/spec/sidecar", "native"),
    toggle(words.insecure, "/spec/kubelet/insecureTLS", true),
    text(words.image, "/spec/agent/image", name),
  );
  return { bar, read: () => readers.forEach((read) => read()) };
}
