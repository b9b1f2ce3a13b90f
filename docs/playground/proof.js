// Sentences about a result: one from the bytes of its edits, and one about the way back, which the injector has gone.
import { number, words } from "./words.js";

export function proof({ result, diff, edits, wayBack, templates, findings }, command) {
  if (result === undefined) {
    return [words.failed(findings.filter(({ severity }) => severity === "error").length)];
  }
  if (!diff) {
    return [words.unchanged];
  }
  const sum = (index) => edits.reduce((bytes, edit) => bytes + edit[index], 0);
  const [removed, inserted] = [sum(0), sum(1)];
  const counts = [number(inserted), number(removed)];
  if (command === "uninject") {
    return [words.uninjected(...counts)];
  }
  const decisions = templates.map(({ decision }) => decision);
  if (decisions.includes("adopted")) {
    return [words.adopted(...counts), words.gone];
  }
  if (decisions.includes("updated") || decisions.includes("removed")) {
    return wayBack ? [words.updated(...counts), words.rest] : [words.updated(...counts)];
  }
  const change = removed ? words.replaced(...counts) : words.inserted(...counts);
  return wayBack === "manifest" ? [change, words.back] : [change];
}

// The agent's container in a JSON Patch.
function agentIn(value) {
  if (value === null || typeof value !== "object") {
    return null;
  }
  if (value.name === "mackerel-container-agent" && value.image) {
    return value;
  }
  return Object.values(value).map(agentIn).find(Boolean) ?? null;
}

// Sentences about the container of two JSON Patches; none if it is not the same.
export function comparison(patch, other) {
  const [agent, another] = [agentIn(patch), agentIn(other)];
  if (!agent || !another) {
    return [];
  }
  const fields = Object.keys({ ...agent, ...another });
  const different = fields.filter((field) => JSON.stringify(agent[field]) !== JSON.stringify(another[field]));
  if (different.length === 0) {
    return [words.same];
  }
  return different.join() === "volumeMounts" ? [words.sameBut("`volumeMounts`")] : [];
}
