// A drawing as PDF of one page: lines as vectors, text in the fonts that every reader of PDF has.

import { channelsOf } from "./drawing_record.js";

const POINTS = 0.75; // of a CSS pixel
const FONTS = { H: "Helvetica", B: "Helvetica-Bold", S: "Symbol", D: "ZapfDingbats" };

/** Character -> [font, character in it]; the font Symbol has the letters of Greek, ZapfDingbats the triangles. */
const ELSEWHERE = {
  "α": ["S", "a"], "β": ["S", "b"], "γ": ["S", "g"], "δ": ["S", "d"], "λ": ["S", "l"], "μ": ["S", "m"], "σ": ["S", "s"],
  "−": ["S", "-"], "″": ["S", "\xb2"], "≠": ["S", "\xb9"], "⊕": ["S", "\xc5"], "▲": ["D", "s"], "▼": ["D", "t"],
  "–": ["H", "\x96"], "—": ["H", "\x97"], "…": ["H", "\x85"], "“": ["H", "\x93"], "”": ["H", "\x94"], "’": ["H", "\x92"],
};
const RAISED = Object.fromEntries([..."⁰¹²³⁴⁵⁶⁷⁸⁹"].map((sign, i) => [sign, String(i)]).concat([["⁻", "−"], ["⁺", "+"]]));
const LOWERED = Object.fromEntries([..."₀₁₂₃₄₅₆₇₈₉"].map((sign, i) => [sign, String(i)]));

/** The bytes of the file; what no font has is written as a question mark. */
export function pdfFile(operations, width, height, background) {
  const states = new Map(); // opacity -> name
  const page = [`${POINTS} 0 0 ${-POINTS} 0 ${round(height * POINTS)} cm`, filled(background), `0 0 ${width} ${height} re f`];
  for (const operation of operations) page.push("q", ...operation.clips.map(clipped), ...drawn(operation, states), "Q");
  return assembled(page.join("\n"), width * POINTS, height * POINTS, states);
}

function drawn(operation, states) {
  const { stroke, fill, width, alpha } = operation;
  const [red, green, blue, opacity] = channelsOf(stroke ?? fill), share = round(opacity * alpha);
  if (!states.has(share)) states.set(share, `G${states.size}`);
  const colour = [red, green, blue].map(round).join(" ");
  const paint = [`/${states.get(share)} gs`, stroke ? `${colour} RG ${round(width)} w` : `${colour} rg`];
  return operation.kind === "text" ? [...paint, ...writtenText(operation)] : [...paint, ...writtenPath(operation)];
}

function writtenPath({ path, stroke, dashes, join }) {
  return [`[${dashes.map(round).join(" ")}] 0 d ${join === "round" ? 1 : 0} j`, steps(path), stroke ? "S" : "f"];
}

function writtenText({ text, x, y, angle, size, isBold, align, stroke }) {
  const pieces = piecesOf(text, isBold ? "B" : "H"), widths = pieces.map((piece) => widthOf(piece, size));
  const total = widths.reduce((sum, one) => sum + one, 0);
  let along = { left: 0, center: -total / 2, right: -total }[align];
  const cos = Math.cos(angle), sin = Math.sin(angle), lines = ["BT", `${stroke ? 1 : 0} Tr`];
  pieces.forEach(({ font, codes, scale, rise }, i) => {
    const down = -rise * size, place = [x + along * cos - down * sin, y + along * sin + down * cos];
    lines.push(`/${font} ${round(size * scale)} Tf ${[cos, sin, sin, -cos, ...place].map(round).join(" ")} Tm (${codes}) Tj`);
    along += widths[i];
  });
  return [...lines, "ET"];
}

/** Runs of characters in one font and height: {font, codes, shown, scale, rise}. */
function piecesOf(text, plain) {
  const pieces = [];
  for (const sign of text) {
    const small = RAISED[sign] ?? LOWERED[sign], shown = small ?? sign;
    const [font, code] = ELSEWHERE[shown] ?? [plain, /^[ -~\xa1-\xff]$/.test(shown) ? shown : "?"];
    const look = { font, scale: small ? 0.7 : 1, rise: sign in RAISED ? 0.35 : sign in LOWERED ? -0.15 : 0 };
    const last = pieces[pieces.length - 1];
    const isSame = last && Object.keys(look).every((name) => last[name] === look[name]);
    if (!isSame) pieces.push({ ...look, codes: "", shown: "" });
    const piece = pieces[pieces.length - 1];
    piece.codes += code.replace(/[()\\]/g, "\\$&");
    piece.shown += shown;
  }
  return pieces;
}

const ruler = document.createElement("canvas").getContext("2d");

function widthOf({ font, shown, scale }, size) {
  ruler.font = `${font === "B" ? "600 " : ""}${size * scale}px Helvetica, Arial, sans-serif`;
  return ruler.measureText(shown).width;
}

function clipped(path) {
  return `${steps(path)} W n`;
}

function steps(path) {
  const names = { M: "m", L: "l", Z: "h" };
  return path.map(([step, ...at]) => [...at.map(round), names[step]].join(" ")).join("\n");
}

function filled(colour) {
  return `${channelsOf(colour).slice(0, 3).map(round).join(" ")} rg`;
}

const round = (value) => Math.round(1000 * value) / 1000;

function assembled(content, width, height, states) {
  const fonts = Object.entries(FONTS).map(([name, base]) => `/${name} << /Type /Font /Subtype /Type1 /BaseFont /${base}${
    "HB".includes(name) ? " /Encoding /WinAnsiEncoding" : ""} >>`);
  const graphics = [...states].map(([share, name]) => `/${name} << /ca ${share} /CA ${share} >>`);
  const resources = `<< /Font << ${fonts.join(" ")} >> /ExtGState << ${graphics.join(" ")} >> >>`;
  const box = `[0 0 ${round(width)} ${round(height)}]`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox ${box} /Resources ${resources} /Contents 4 0 R >>`,
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
  ];
  let file = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n";
  const places = objects.map((object, i) => {
    const place = file.length;
    file += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = ["0000000000 65535 f ", ...places.map((place) => `${String(place).padStart(10, "0")} 00000 n `)];
  const end = `xref\n0 ${table.length}\n${table.join("\n")}\ntrailer\n<< /Size ${table.length} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Uint8Array.from(file + end, (sign) => sign.charCodeAt(0));
}
