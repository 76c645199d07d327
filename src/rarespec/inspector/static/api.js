// Talking to the server: one function for each address of its interface.

export class ServerGone extends Error {}

export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }

  /** Whether the same request may be accepted later: after a restart of the server, or once it is less busy. */
  get mayPass() {
    return [401, 403, 408, 429].includes(this.status) || this.status >= 500;
  }
}

/** The page may lie below a path that only a proxy knows; the place of this file tells it. */
const BASE = new URL("..", import.meta.url);
const LEAVE = "/api/leave";

let xsrf = "";
let home = null; // of the labels of this page
let departure = null; // a promise while the page is being left; it settles only if the page stays
let reads = new AbortController();

/** The whole address of a path of the interface, "/api/..."; for elements that fetch by themselves. */
export function addressOf(path) {
  return new URL(`.${path}`, BASE).href;
}

/** A page that was left open gets no secret of a survey that was opened later: its labels do not belong there. */
export async function session() {
  const told = await json("/api/session");
  home ??= told.home;
  if (told.home === home) xsrf = told.xsrf;
  return told;
}

/** Which surveys there are, and what is being opened; see start_page.js. */
export async function start() {
  const told = await json("/api/start");
  xsrf = told.xsrf ?? xsrf;
  return told;
}

export const look = () => post("/api/look", {});
export const choose = (wanted) => post("/api/choose", wanted);

/** Back to the start page. What is still being read is given up, since the server no longer has it. */
export async function leave() {
  let stay;
  departure = new Promise((settle) => (stay = settle));
  reads.abort();
  try {
    return await post(LEAVE, {});
  } catch (error) {
    departure = null;
    reads = new AbortController();
    stay();
    throw error;
  }
}

export async function wavelength() {
  return new Float64Array(await bytes("/api/wavelength"));
}

export function candidates(start, n) {
  return json(`/api/candidates?start=${start}&n=${n}`);
}

/** {flux, known} for each id: Float32Arrays of binned flux, and of its nearest known example on the same scale. */
export async function thumbnails(ids) {
  const query = ids.map((id) => `id=${encodeURIComponent(id)}`).join("&");
  const response = await answered(`/api/thumbnails?${query}`);
  const points = Number(response.headers.get("X-Points"));
  const values = new Float32Array(await response.arrayBuffer());
  const row = (i) => values.subarray(i * points, (i + 1) * points);
  return ids.map((_, i) => ({ flux: row(i), known: row(ids.length + i) }));
}

/** Where a spectrum is that the list does not have: {in_survey, known}. */
export function find(id) {
  return json(`/api/find?id=${encodeURIComponent(id)}`);
}

/** {blob} of a picture of the sky, or {why} there is none. */
export async function cutout(id) {
  const response = await answered(`/api/cutout?id=${encodeURIComponent(id)}`);
  const isPicture = response.headers.get("Content-Type").startsWith("image/");
  return isPicture ? { blob: await response.blob() } : response.json();
}

export async function spectrum(id) {
  return decodedSpectrum(await bytes(`/api/spectrum?id=${encodeURIComponent(id)}`));
}

export const yieldCurve = () => json("/api/yield");
export const progress = () => json("/api/progress");
export const disagreements = () => json("/api/disagreements");
export const places = () => json("/api/places");
export const tellPlace = (id) => post("/api/place", { id });
export const relearn = () => post("/api/relearn", {});
export const setOrder = (order) => post("/api/order", { order });

export const sendLabels = (wanted) => post("/api/send", wanted);

/** {name, content}: a file of labels, and what the server calls it. */
export async function exportLabels(format, { only, tag }) {
  const chosen = Object.entries({ format, only, tag }).filter(([, value]) => value);
  const response = await answered(`/api/export?${new URLSearchParams(chosen)}`);
  const [, name] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition"));
  return { name, content: await response.blob() };
}

/** A curve to lay over a spectrum, {wavelength, flux, z, note, ...}; kind: "id" or "template". */
export async function overlay(kind, name) {
  return decodedSpectrum(await bytes(`/api/overlay?${kind}=${encodeURIComponent(name)}`));
}

export const sameObject = (id) => json(`/api/same-object?id=${encodeURIComponent(id)}`);
export const setRedshift = (id, z) => post("/api/redshift", { id, z });

export async function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-Rarespec-Xsrf": xsrf };
  return (await answered(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** Length of a JSON header, the header, then the float32 arrays that it names. */
export function decodedSpectrum(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const told = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  told.arrays.forEach((name, i) => {
    told[name] = new Float32Array(buffer, 4 + length + 4 * told.n * i, told.n);
  });
  return told;
}

async function json(path) {
  return (await answered(path)).json();
}

async function bytes(path) {
  return (await answered(path)).arrayBuffer();
}

async function answered(path, options = {}) {
  const response = await reached(path, options);
  if (!response.ok) throw new Refused(response.status, await reasonOf(response));
  return response;
}

async function reached(path, options) {
  if (path !== LEAVE) await departure;
  const signal = options.method ? null : reads.signal;
  try {
    return await fetch(addressOf(path), { ...options, signal, credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (path !== LEAVE) await departure;
    throw new ServerGone(`no answer from the server: ${error.message}`);
  }
}

async function reasonOf(response) {
  try {
    return (await response.json()).error;
  } catch {
    return `the server answered ${response.status} ${response.statusText}`;
  }
}
