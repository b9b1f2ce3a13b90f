// The texts stay in the tab: after a reload, on the way back, and in the other language. A link has them only on demand, and behind `#`,
// which no browser sends; the page that is opened by it takes them out of its address at once.

const KEY = "mackerel-agent-injector";
const MARK = "#texts=";
export const MAX_LINK = 8000;
// Bytes of the texts of a link, which may be compressed a thousand times.
const MAX_TEXTS = 2_000_000;

export function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export function store(state) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(state));
  } catch {
    // Without storage, or with more text than it takes, the page works as well.
  }
}

export async function linkOf(texts) {
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
