// Lines and bands of the chosen species where this object should have them, and marks of the sky, which do not move.

const ROW = 13; // CSS pixels between two rows of names
const ROWS = 3;
const BAND_FOOT = 9; // length of the foot that shows on which side of its head a band absorbs

export const NAMES_HEIGHT = ROW * ROWS + 4;

/** [{name, wavelength, side, own}] as seen at this redshift, by wavelength; null or NaN leaves them at rest. */
export function marksAt(species, isChosen, redshift) {
  const stretch = 1 + (Number.isFinite(redshift) ? redshift : 0);
  const marks = species.filter((one) => isChosen(one.name)).flatMap(({ name, own, lines }) =>
    lines.map(({ wavelength, side }) => ({ name, own, side, rest: wavelength, wavelength: wavelength * stretch })));
  return marks.sort((a, b) => a.wavelength - b.wavelength);
}

/** Sky marks; in a survey moved to rest they have moved with each spectrum. */
export function skyAt(sky, isRestFrame, redshift) {
  if (!isRestFrame) return sky;
  if (!Number.isFinite(redshift)) return [];
  return sky.map((mark) => ({ ...mark, wavelength: mark.wavelength / (1 + redshift) }));
}

/** Draws marks within the frame {context, x, left, right, top, bottom, colours}. */
export function drawLineMarks(frame, marks) {
  const { context, colours } = frame;
  const rowEnds = new Array(ROWS).fill(-Infinity);
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  for (const mark of marks.filter((one) => isInside(frame, one))) {
    const colour = mark.own ? colours["own-line"] : colours.line;
    Object.assign(context, { strokeStyle: colour, fillStyle: colour });
    drawHead(frame, mark);
    drawName(frame, mark, rowEnds);
  }
}

export function drawSkyMarks(frame, sky) {
  const { context, x, top, bottom, colours } = frame;
  Object.assign(context, { fillStyle: colours.faint, strokeStyle: colours.faint, textAlign: "center" });
  context.font = "11px system-ui, sans-serif";
  for (const mark of sky.filter((one) => isInside(frame, one))) {
    stroke(context, [1, 3], () => {
      context.moveTo(x(mark.wavelength), top);
      context.lineTo(x(mark.wavelength), bottom - 16);
    });
    context.fillText(`⊕ ${mark.name}`, x(mark.wavelength), bottom - 5);
  }
}

function isInside({ x, left, right }, { wavelength }) {
  return x(wavelength) >= left && x(wavelength) <= right;
}

/** An upright at the wavelength; a band's has feet on the side where it absorbs. */
function drawHead({ context, x, top, bottom }, { wavelength, side, own }) {
  const place = x(wavelength), from = top + NAMES_HEIGHT;
  stroke(context, own ? [6, 3] : [], () => {
    context.moveTo(place, from);
    context.lineTo(place, bottom);
  }, 0.45);
  if (!side) return;
  stroke(context, [], () => {
    context.moveTo(place, from);
    context.lineTo(place + side * BAND_FOOT, from);
    context.lineTo(place, from + BAND_FOOT);
  }, 0.8);
}

/** In the first row where it does not touch a neighbour; without a name when no row has room. */
function drawName({ context, x, left, right, top }, { name, wavelength }, rowEnds) {
  const half = context.measureText(name).width / 2 + 3;
  const place = Math.max(left + half, Math.min(x(wavelength), right - half));
  const row = rowEnds.findIndex((end) => end <= place - half);
  if (row < 0) return;
  rowEnds[row] = place + half;
  const y = top + ROW * (row + 1) - 2;
  context.fillText(name, place, y);
  stroke(context, [], () => {
    context.moveTo(x(wavelength), y + 3);
    context.lineTo(x(wavelength), top + NAMES_HEIGHT);
  }, 0.3);
}

function stroke(context, dashes, path, opacity = 1) {
  context.save();
  context.globalAlpha = opacity;
  context.setLineDash(dashes);
  context.beginPath();
  path();
  context.stroke();
  context.restore();
}
