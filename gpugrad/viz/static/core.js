// Shared by all figures: making elements, numbers and names as text, arrays as they come from Python.

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child != null));
  return element;
};
// Text from the data goes into text nodes and attributes only, never into markup.
export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
export const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** JupyterLab takes the arrow keys from whatever has the focus, unless the element itself says no. */
export const quiet = element => {
  element.dataset.lmSuppressShortcuts = "true";
  return element;
};

const ARRAYS = {
  u1: Uint8Array,
  i1: Int8Array,
  u2: Uint16Array,
  i2: Int16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};

/** An array as Python packs it: {type, data}, little-endian and in base64, so that NaN and infinity survive. */
export function unpack(packed) {
  if (packed == null) return null;
  if (packed.runs != null) {
    const each = unpack({ ...packed, runs: null });
    const runs = unpack(packed.runs);
    const all = new each.constructor(runs.reduce((a, b) => a + b, 0));
    let at = 0;
    runs.forEach((n, k) => all.fill(each[k], at, (at += n)));
    return all;
  }
  if (packed.fill != null) return new ARRAYS[packed.type](packed.length).fill(packed.fill);
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[packed.type](bytes.buffer);
}

/** A short number, with a true minus sign: five characters, more for a tiny one's exponent; nothing is a dot. */
export function num(v) {
  if (v == null) return "·";
  if (Number.isNaN(v)) return "NaN";
  if (!Number.isFinite(v)) return v < 0 ? "−∞" : "∞";
  const a = Math.abs(v);
  let text;
  if (Number.isInteger(v) && a < 1e4) text = String(v === 0 ? 0 : v);
  else if (a >= 9999.5 || a < 0.005) text = v.toExponential(0).replace("e+", "e");
  else text = v.toFixed(a < 9.995 ? 2 : a < 99.95 ? 1 : 0);
  return text.replaceAll("-", "−");
}

export const CELL = 28;
export const SMALL = 688; // narrower figures are a phone's: tokens.css makes their cells smaller

/** The cell width in which each of these values fits. */
export function fit(values) {
  let longest = 3;
  for (const v of values) {
    longest = Math.max(longest, num(v).length);
    if (longest >= 6) break;
  }
  return longest <= 3 ? CELL : 8 * longest + 8;
}

/** name[2][1]: a flat index as one would write it. */
export function bracket(name, i, shape) {
  let text = "";
  for (const size of [...shape].reverse()) {
    text = `[${i % size}]` + text;
    i = Math.floor(i / size);
  }
  return name + text;
}

/** 1,200 events; 1 event. */
export const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;

/** A sentence's parts: text, {code}, or {v: sign, t: verb}. */
export function say(...parts) {
  const element = part => {
    if (typeof part === "string") return part;
    const long = part.code?.length > 32 ? "long" : null;
    return part.code != null ? html("code", { class: long }, part.code) : html("span", { class: "v " + part.v }, part.t);
  };
  return parts
    .flat(Infinity)
    .filter(part => part != null)
    .map(element);
}

/** A legend. items: [class of a sign or null, what stands in it, what it means]. */
export function key(items) {
  const sign = (cls, glyph) =>
    cls ? html("span", { class: "v " + cls }, glyph) : html("b", { class: "mono" }, glyph, " ");
  const entries = items.map(([cls, glyph, text]) => html("span", {}, sign(cls, glyph), text));
  return html("div", { class: "key", role: "group", "aria-label": "legend" }, ...entries);
}

export const product = shape => shape.reduce((a, b) => a * b, 1);

/** A figure in its order: title, lead, options, player and sentence, pictures, legend, where the data came from. */
export function figure({ data, options = [], player, sentence, pictures, legend }) {
  return html(
    "section",
    { class: "gg", "aria-label": data.title },
    html("h3", {}, data.title),
    html("p", { class: "lead" }, data.lead),
    options.length ? html("div", { class: "bar opts" }, ...options) : null,
    html("div", { class: "head" }, player?.el, sentence?.el),
    ...pictures,
    legend ? key(legend) : null,
    html("footer", {}, data.caption),
  );
}

/** Draws a figure now, and again when its data changes; what had the focus gets it again. */
export function mount(draw) {
  return ({ model, el }) => {
    let stop = () => {};
    const redraw = () => {
      const held = el.contains(document.activeElement) ? document.activeElement : null;
      stop(); // what plays stops, and its button is called play again
      const focus = held?.getAttribute("aria-label");
      el.replaceChildren();
      stop = draw(model, el);
      if (focus)
        [...el.querySelectorAll("[aria-label]")]
          .find(e => e.getAttribute("aria-label") === focus)
          ?.focus({ preventScroll: true });
    };
    redraw();
    model.on("change:data", redraw);
    return () => {
      stop();
      model.off("change:data", redraw);
    };
  };
}

/** Counts beside each other, as bars with their numbers. rows: {name, value, text, now}. */
export function bars({ title, note = "", rows }) {
  const most = Math.max(1, ...rows.map(x => x.value));
  const row = x => {
    const bar = html("i", { style: `width:${Math.max(0.5, (x.value / most) * 100)}%` });
    const cls = "barrow" + (x.now ? " now" : "");
    return html("div", { class: cls }, html("span", {}, x.name), bar, html("span", { class: "mono" }, x.text));
  };
  return html("div", { class: "bars" }, html("h4", {}, title + " ", html("small", {}, note)), ...rows.map(row));
}
