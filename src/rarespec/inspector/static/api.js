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

let xsrf = "";

/** The whole address of a path of the interface, "/api/..."; for elements that fetch by themselves. */
export function addressOf(path) {
  return new URL(`.${path}`, BASE).href;
}

export async function session() {
  const told = await json("/api/session");
  xsrf = told.xsrf;
  return told;
}

export async function wavelength() {
  return new Float64Array(await bytes("/api/wavelength"));
}

export function candidates(start, n) {
  return json(`/api/candidates?start=${start}&n=${n}`);
}

/** One Float32Array of binned flux for each id. */
export async function thumbnails(ids) {
  const query = ids.map((id) => `id=${encodeURIComponent(id)}`).join("&");
  const response = await answered(`/api/thumbnails?${query}`);
  const points = Number(response.headers.get("X-Points"));
  const values = new Float32Array(await response.arrayBuffer());
  return ids.map((_, i) => values.subarray(i * points, (i + 1) * points));
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
  try {
    return await fetch(addressOf(path), { ...options, credentials: "same-origin", redirect: "error" });
  } catch (error) {
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
