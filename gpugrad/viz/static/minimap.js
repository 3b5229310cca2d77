// The minimap of a cropped grid: the whole of it, the part in view, and what is touched now. It moves the view.
import { html, svg, quiet } from "./core.js";

const WIDTH = 120;
const HEIGHT = 40;
const KEYS = {
  ArrowRight: [0, 0, 1],
  ArrowLeft: [0, 0, -1],
  ArrowDown: [0, 1, 0],
  ArrowUp: [0, -1, 0],
  PageDown: [1, 0, 0],
  PageUp: [-1, 0, 0],
};

/** Which of all are in view, in words, or null where all are. */
const span = (what, from, n, all) => {
  const first = Math.max(0, from);
  const last = Math.min(all, from + n) - 1;
  if (n >= all) return null;
  return first === last ? `${what} ${first} of ${all}` : `${what}s ${first}–${last} of ${all}`;
};

/** size: planes P of TH x TW cells with their padding, H x W without. seen() gives the view; move(p, y, x) sets it. */
export function minimap({ name, flat, spread, P, H, W, ph, pw, seen, move }) {
  const TH = H + 2 * ph;
  const TW = W + 2 * pw;
  const scale = Math.min(WIDTH / Math.max(1, TW), HEIGHT / Math.max(1, spread ? P * TH : TH));
  const w = Math.max(6, TW * scale) + 2;
  const h = Math.max(6, P * TH * scale) + 2;
  const help = "drag the frame, or use the arrow keys, to see the rest";
  const whole = svg("svg", { class: "mini", width: w, height: h, viewBox: `-1 -1 ${w} ${h}`, tabindex: 0 });
  const said = html("span", {});
  const role = { role: "slider", "aria-label": `part of ${name} in view`, "aria-valuemin": 0 };
  for (const [key, v] of Object.entries({ ...role, "aria-valuemax": P * H * W - 1 })) whole.setAttribute(key, v);
  const rect = (p, y, x, height, width, cls) =>
    svg("rect", {
      x: (x + pw) * scale,
      y: (y + ph + p * TH) * scale,
      width: Math.max(1.5, width * scale),
      height: Math.max(1.5, height * scale),
      class: cls,
    });

  /** touched: [plane, row, column, sign] */
  function draw(touched) {
    const v = seen();
    whole.replaceChildren(
      rect(0, -ph, -pw, P * TH, TW, "all"),
      ...touched.map(([p, y, x, sign]) => rect(p, y, x, 1, 1, "t " + sign)),
      ...Array.from({ length: v.planes }, (_, k) => rect(v.p + k, v.y, v.x, v.rows, v.columns, "in")),
    );
    const rows = v.rows < TH && !flat ? span("row", v.y, v.rows, H) : null;
    const columns = v.columns < TW ? span(flat ? "element" : "column", v.x, v.columns, W) : null;
    const parts = [span("plane", v.p, v.planes, P), rows, columns].filter(Boolean);
    const text = parts.join(", ") || "all but some padding";
    said.textContent = `${text}; drag the frame`;
    whole.setAttribute("aria-valuetext", text);
    whole.setAttribute("aria-valuenow", (Math.max(0, v.p) * H + Math.max(0, v.y)) * W + Math.max(0, v.x));
  }

  const drag = e => {
    const b = whole.getBoundingClientRect();
    const x = (e.clientX - b.left) / scale;
    const y = (e.clientY - b.top) / scale;
    const v = seen();
    move(Math.floor(y / TH), Math.round((y % TH) - ph - v.rows / 2), Math.round(x - pw - v.columns / 2));
  };
  quiet(whole);
  whole.addEventListener("pointerdown", e => {
    whole.setPointerCapture(e.pointerId);
    drag(e);
  });
  whole.addEventListener("pointermove", e => {
    if (e.buttons) drag(e);
  });
  whole.addEventListener("keydown", e => {
    const way = KEYS[e.key];
    if (!way) return;
    e.preventDefault();
    const v = seen();
    move(v.p + way[0], v.y + way[1] * Math.max(1, v.rows - 1), v.x + way[2] * Math.max(1, v.columns - 1));
  });
  return { el: html("div", { class: "where", title: help }, whole, said), draw };
}
