// A text field with line numbers, whose lines can be marked.
import { element } from "./elements.js";

// More marks than these would only be slow.
const MAX_MARKS = 500;

export function editor(name, ariaLabel, placeholder, oninput) {
  const field = element("textarea", { className: name, ariaLabel, placeholder, oninput, wrap: "off", spellcheck: false });
  field.setAttribute("autocapitalize", "off");
  const numbers = element("pre", { className: "numbers" });
  const marks = element("div", { className: "marks" });
  const behind = element("div", { className: "behind", ariaHidden: "true" }, marks, numbers);
  const box = element("div", { className: "editor" }, behind, field);
  let lines = 0;

  field.onscroll = () => behind.style.setProperty("--scrolled", `${-field.scrollTop}px`);

  // Shows the number of each line, and marks those of findings by their severity.
  function mark(findings) {
    const count = field.value.split("\n").length;
    if (count !== lines) {
      lines = count;
      numbers.textContent = Array.from({ length: count }, (_, index) => index + 1).join("\n");
      box.style.setProperty("--digits", String(count).length);
    }
    const marked = findings.filter(({ line }) => line).slice(0, MAX_MARKS);
    marks.replaceChildren(
      ...marked.reverse().map(({ line, severity }) => {
        const bar = element("div", { className: `severity-${severity}` });
        bar.style.setProperty("--line", line - 1);
        return bar;
      }),
    );
  }

  // Selects a line and shows it with some lines above it.
  function goTo(line) {
    const before = field.value.split("\n").slice(0, line);
    const end = before.join("\n").length;
    field.focus();
    field.setSelectionRange(end - before.at(-1).length, end);
    field.scrollTop = parseFloat(getComputedStyle(field).lineHeight) * (line - 5);
  }

  return { box, field, mark, goTo };
}
