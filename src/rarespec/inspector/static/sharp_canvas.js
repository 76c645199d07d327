// A canvas as sharp as the screen, in the colours of the page.

/** Fits the canvas to its place on the page; {context, width, height} in CSS pixels, cleared. */
export function sharp(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** The colours that the style sheet gives to drawings, by name: colour("flux") is --flux. */
export function colours(element = document.documentElement) {
  const style = getComputedStyle(element);
  return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });
}

/** Calls back when a drawing must be made again: another size, another sharpness, light or dark. */
export function onLookChange(canvas, redraw) {
  new ResizeObserver(redraw).observe(canvas);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
