// What of the list is shown, and in which order: the choice as plain values, and what it means.

/** Everything, as the server lists it. A text that is empty, and a number that is null, ask for nothing. */
export const EVERYTHING = { text: "", class: "", snr: null, flag: "", label: "", tag: "", sort: "list", reversed: false };

/** `of` : the value to sort by; `downwards` : the largest first, unless reversed. */
export const SORTS = {
  list: { words: "list order", of: ({ position }) => position },
  rank: { words: "rank", of: ({ rank, ranked }) => (ranked ? rank : null) },
  chance: { words: "chance", of: ({ chance }) => chance, downwards: true },
  snr: { words: "S/N", of: ({ snr }) => snr, downwards: true },
  class: { words: "class", of: (candidate) => [candidate.class, candidate.subclass].filter(Boolean).join(" ") || null },
  id: { words: "id", of: ({ id }) => id },
};

/** A choice is written "is:VALUE", so that a class or tag may have any name; these are the other choices. */
export const SOME = "some";
export const NONE = "none";
export const DISAGREE = "disagree";
export const is = (value) => `is:${value ?? ""}`;

export const flagsOf = ({ flags }) => [flags ?? ""].flat().join(",").split(",").map((flag) => flag.trim()).filter(Boolean);
export const tagsOf = ({ tags }) => tags ?? [];

export function isFiltered({ text, class: kind, snr, flag, label, tag }) {
  return Boolean(words(text).length || kind || snr !== null || flag || label || tag);
}

export function isSorted({ sort, reversed }) {
  return sort !== EVERYTHING.sort || reversed;
}

/** The candidates that the choice asks for, in its order; `kept` is an id that is shown in any case. */
export function chosen(candidates, choice, kept = null) {
  const matches = matcher(choice);
  const found = candidates.filter((candidate) => candidate.id === kept || matches(candidate));
  return isSorted(choice) ? sorted(found, choice) : found;
}

function matcher({ text, class: kind, snr, flag, label, tag }) {
  const wanted = words(text);
  const tests = [
    wanted.length && ((one) => wanted.every((word) => textOf(one).includes(word))),
    kind && ((one) => is(one.class) === kind),
    snr !== null && ((one) => one.snr >= snr),
    flag && ((one) => amongThem(flagsOf(one), flag)),
    label && ((one) => (label === DISAGREE ? one.disagree : label === NONE ? !one.label : is(one.label) === label)),
    tag && ((one) => amongThem(tagsOf(one), tag)),
  ].filter(Boolean);
  return (candidate) => tests.every((test) => test(candidate));
}

function amongThem(values, wanted) {
  if (wanted === SOME) return values.length > 0;
  return wanted === NONE ? !values.length : values.some((value) => is(value) === wanted);
}

function words(text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

function textOf({ id, class: kind, subclass, comment }) {
  return [id, kind, subclass, comment].filter(Boolean).join(" ").toLowerCase();
}

/** What has no value comes last, in either direction; equals stay in the order of the list. */
function sorted(candidates, { sort, reversed }) {
  const { of, downwards = false } = SORTS[sort];
  const sign = downwards !== reversed ? -1 : 1;
  const keyed = candidates.map((candidate) => [of(candidate) ?? null, candidate]);
  keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compared(a, b)));
  return keyed.map(([, candidate]) => candidate);
}

const inWords = new Intl.Collator("en", { numeric: true });

function compared(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : inWords.compare(String(a), String(b));
}
