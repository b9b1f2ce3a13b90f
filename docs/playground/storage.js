// The texts stay in the tab: after a reload, on the way back, and in the other language.

const KEY = "mackerel-agent-injector";

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
