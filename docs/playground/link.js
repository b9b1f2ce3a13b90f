// A link has the texts only on demand, and behind `#`, which no browser sends; the page that is opened by it takes them out of its address
// at once.
import { element } from "./elements.js";
import { number, words } from "./words.js";

const MARK = "#texts=";
const MAX_LINK = 8000;
// Bytes of the texts of a link, which may be compressed a thousand times.
const MAX_TEXTS = 2_000_000;

// Copies a link with the texts, and tells what that means.
export async function copyLink(texts, tell) {
  const link = await linkOf(texts);
  if (link.length > MAX_LINK) {
    tell(words.tooLong(number(link.length), number(MAX_LINK)));
    return;
  }
  try {
    await navigator.clipboard.writeText(link);
    tell(words.copied(number(link.length)));
  } catch {
    const field = element("input", { type: "text", readOnly: true, value: link, ariaLabel: words.copy });
    tell(words.notCopied, field);
    field.select();
  }
}

async function linkOf(texts) {
  const stream = new Blob([JSON.stringify(texts)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const packed = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const { origin, pathname } = location;
  return `${origin}${pathname}${MARK}${packed.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

// Returns the texts of the address; null if it has none. A damaged link is an error.
export async function linked() {
  if (!location.hash.startsWith(MARK)) {
    return null;
  }
  const packed = location.hash.slice(MARK.length);
  history.replaceState(null, "", location.pathname);
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const chunks = [];
  let size = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    chunks.push(chunk.value);
    size += chunk.value.length;
    if (size > MAX_TEXTS) {
      throw new Error("too large");
    }
  }
  const { manifest, configuration, command, view } = JSON.parse(await new Blob(chunks).text());
  return { manifest: String(manifest), configuration: String(configuration), command, view };
}
