// Where one was, kept in the address of the page: view and id, so that a reload or a bookmark returns there.

/** {view, id}; null when the address says nothing. */
export function placeInAddress() {
  const [, view, id] = /^#(grid|detail)\/(.*)$/s.exec(location.hash) ?? [];
  if (!view) return null;
  try {
    return { view, id: decodeURIComponent(id) };
  } catch {
    return null; // not one of ours
  }
}

export function writePlace(view, id) {
  history.replaceState(null, "", `#${view}/${encodeURIComponent(id)}`);
}
