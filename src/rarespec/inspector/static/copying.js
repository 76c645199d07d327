// Id and position of a candidate for the clipboard, as other programs read them.

import { byId } from "./text.js";

const FEEDBACK = 2500; // ms
let timer = null;

export async function copyId({ id }) {
  await copy(id, "id");
}

export async function copyDegrees(candidate) {
  await copyPosition(candidate, inDegrees, "degrees");
}

export async function copySexagesimal(candidate) {
  await copyPosition(candidate, sexagesimal, "h m s");
}

/** "217.391520 -1.234560": six digits are a few milliarcseconds. */
export function inDegrees(ra, dec) {
  return `${ra.toFixed(6)} ${signed(dec, Math.abs(dec).toFixed(6))}`;
}

/** "14:29:33.965 -01:14:04.42" */
export function sexagesimal(ra, dec) {
  return `${parts(ra / 15, 3, 24)} ${signed(dec, parts(Math.abs(dec), 2))}`;
}

function signed(value, text) {
  return (value < 0 ? "-" : "+") + text;
}

/** Rounded as a whole, so that no second is written as 60. */
function parts(value, digits, round = Infinity) {
  const units = 10 ** digits;
  const total = Math.round(value * 3600 * units) % (round * 3600 * units);
  const seconds = (total % (60 * units)) / units, minutes = Math.floor(total / (60 * units));
  const two = (number) => String(number).padStart(2, "0");
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}:${seconds.toFixed(digits).padStart(digits + 3, "0")}`;
}

async function copyPosition({ ra, dec }, written, what) {
  if (Number.isFinite(ra) && Number.isFinite(dec)) await copy(written(((ra % 360) + 360) % 360, dec), what);
  else say("this spectrum has no position");
}

async function copy(text, what) {
  say((await toClipboard(text)) ? `${what} copied` : `your browser does not allow copying; select this: ${text}`);
}

/** Without https a browser has no clipboard for scripts; the older way still works there. */
async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedFromField(text);
  }
}

function copiedFromField(text) {
  const field = Object.assign(document.createElement("textarea"), { value: text, className: "off-screen" });
  document.body.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    field.remove();
  }
}

function say(words) {
  byId("copied").textContent = words;
  clearTimeout(timer);
  timer = setTimeout(() => (byId("copied").textContent = ""), FEEDBACK);
}
