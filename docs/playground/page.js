// The page "Try it" of both books: at each change of a text, the injector runs and its diff is shown.
// The injector is loaded once, from this folder. Nothing is sent.
import load, { examples, inject, uninject } from "./playground.js";

const WORDS = {
  en: {
    example: "Example",
    deployment: "Deployment",
    cronjob: "CronJob",
    list: "List",
    refused: "one that is refused",
    command: "Command",
    take: "Use the result as the manifest",
    manifest: "Manifest",
    configuration: "Configuration (agent-injector.yaml)",
    diff: "Diff",
    unchanged: "No change.",
    line: (line) => `line ${line}`,
    broken: "The injector has stopped. This is a bug: please report it with the manifest, then load the page again.",
  },
  ja: {
    example: "例",
    deployment: "Deployment",
    cronjob: "CronJob",
    list: "List",
    refused: "エラーになる例",
    command: "コマンド",
    take: "結果をマニフェストとして使う",
    manifest: "マニフェスト",
    configuration: "設定（agent-injector.yaml）",
    diff: "diff",
    unchanged: "変更はありません。",
    line: (line) => `${line} 行目`,
    broken: "インジェクターが停止しました。不具合ですので、マニフェストを添えてご報告のうえ、ページを再読み込みしてください。",
  },
};

const CONFIGURATION = `apiVersion: agent-injector.contrib.mackerel.io/v1alpha1
kind: AgentInjector
spec:
  agent:
    roles: ["shop:web"]
`;

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function choice(values, words) {
  const options = values.map((value) => element("option", { value }, words[value] ?? value));
  return element("select", {}, ...options);
}

// One element for each line, so that a long one wraps behind its sign.
function diffLines(diff) {
  const classes = { "+": "added", "-": "removed", "@": "hunk" };
  // The first two lines name the file.
  const lines = diff.split("\n").slice(2, -1);
  return lines.map((line) => element("span", { className: classes[line[0]] ?? "" }, line));
}

function show(words, root) {
  const manifests = JSON.parse(examples());
  const example = choice(Object.keys(manifests), words);
  const command = choice(["inject", "uninject"], words);
  const take = element("button", { type: "button" }, words.take);
  const manifest = element("textarea", { className: "manifest", spellcheck: false });
  const configuration = element("textarea", { className: "configuration", spellcheck: false, value: CONFIGURATION });
  const diff = element("div", { className: "diff", tabIndex: 0 });
  const findings = element("ul", { className: "findings" });
  let result = null;

  function goTo(line) {
    const lines = manifest.value.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    manifest.focus();
    manifest.setSelectionRange(start, start + lines[line - 1].length);
    manifest.scrollTop = (manifest.scrollHeight / lines.length) * (line - 4);
  }

  function finding({ severity, id, line, text }) {
    const item = element("li", { className: severity });
    if (!id) {
      item.classList.add("of-configuration");
      item.append(text);
      return item;
    }
    item.append(element("a", { href: `reasons.html#${id}` }, `${severity}[${id}]`), " ");
    if (line) {
      item.append(element("button", { type: "button", onclick: () => goTo(line) }, words.line(line)), " ");
    }
    item.append(text);
    return item;
  }

  function update() {
    let report;
    try {
      const run = command.value === "inject" ? inject : uninject;
      report = JSON.parse(run(manifest.value, configuration.value));
    } catch (error) {
      report = { result: null, diff: "", findings: [{ severity: "error", text: `${words.broken}\n${error}` }] };
    }
    result = report.result;
    take.disabled = !report.diff;
    const unchanged = result === null ? "" : words.unchanged;
    diff.replaceChildren(...(report.diff ? diffLines(report.diff) : [unchanged]));
    findings.replaceChildren(...report.findings.map(finding));
  }

  function begin() {
    manifest.value = manifests[example.value];
    command.value = "inject";
    update();
  }

  example.onchange = begin;
  command.onchange = update;
  manifest.oninput = update;
  configuration.oninput = update;
  take.onclick = () => {
    manifest.value = result;
    update();
  };
  const label = (text, control) => element("label", {}, text, " ", control);
  const controls = element("div", { className: "controls" }, label(words.example, example), label(words.command, command), take);
  root.replaceChildren(
    controls,
    label(words.manifest, manifest),
    element("div", {}, words.diff, diff),
    findings,
    label(words.configuration, configuration),
  );
  begin();
}

document.head.append(element("link", { rel: "stylesheet", href: new URL("page.css", import.meta.url).href }));
await load();
show(WORDS[document.documentElement.lang] ?? WORDS.en, document.getElementById("playground"));
