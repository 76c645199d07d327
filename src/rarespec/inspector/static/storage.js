// The browser's storage; where it is switched off or full, memory takes its place until the page is closed.

const memory = new Map();

export const storage = {
  get: (key) => memory.get(key) ?? attempted(() => localStorage.getItem(key)) ?? null,

  set(key, text) {
    memory.delete(key);
    const isStored = attempted(() => localStorage.setItem(key, text) === undefined);
    if (!isStored) memory.set(key, text);
  },

  remove(key) {
    memory.delete(key);
    attempted(() => localStorage.removeItem(key));
  },

  keys: () => [...new Set([...memory.keys(), ...(attempted(() => Object.keys(localStorage)) ?? [])])],
};

function attempted(work) {
  try {
    return work();
  } catch {
    return undefined;
  }
}
