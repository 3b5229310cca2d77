// The roofline: GFLOP/s over operations for each byte. The slope is the memory's roof, the flat part the arithmetic's.
import { html, svg } from "./core.js";

const [W, H, LEFT, BOTTOM, TOP_, RIGHT] = [380, 270, 52, 40, 14, 24];
const below = v => 10 ** Math.floor(Math.log10(v));
const above = v => 10 ** Math.ceil(Math.log10(v));
const decade = v => (v >= 1000 ? v.toLocaleString("en") : String(+v.toPrecision(1)));

/** A logarithmic axis over decades lo..hi, from pixel a to pixel b. */
const axis = (lo, hi, a, b) => v =>
  a + ((Math.log10(v) - Math.log10(lo)) / (Math.log10(hi) - Math.log10(lo))) * (b - a);

/** points: {disc, name, x, y}; peaks: {gbs, gflops}; rate() writes a number of GFLOP/s. */
export function roofline(points, peaks, rate) {
  const knee = peaks.gflops / peaks.gbs;
  const x0 = below(Math.min(knee / 10, ...points.map(p => p.x)));
  const x1 = above(Math.max(knee * 10, ...points.map(p => p.x)) * 1.01);
  const y0 = below(Math.min(peaks.gflops / 100, ...points.map(p => p.y)));
  const y1 = above(Math.max(peaks.gflops, ...points.map(p => p.y)) * 1.01);
  const X = axis(x0, x1, LEFT, W - RIGHT);
  const Y = axis(y0, y1, H - BOTTOM, TOP_);
  const said = points.map(p => `${p.name} ${rate(p.y)} GFLOP/s`).join(", ");
  const role = { role: "img", "aria-label": `roofline: ${said}` };
  const root = svg("svg", { class: "roofline", width: W, height: H, viewBox: `0 0 ${W} ${H}`, ...role });
  const line = (d, cls) => svg("path", { class: cls, d });
  for (let v = x0; v <= x1 * 1.01; v *= 10)
    root.append(line(`M${X(v)} ${TOP_}V${H - BOTTOM}`, "lat"), label(X(v), H - BOTTOM + 12, decade(v), "ax"));
  for (let v = y0; v <= y1 * 1.01; v *= 10)
    root.append(line(`M${LEFT} ${Y(v)}H${W - RIGHT}`, "lat"), label(LEFT - 6, Y(v), decade(v), "ax side"));
  const from = Math.max(x0, y0 / peaks.gbs);
  const disc = p => {
    const circle = svg("circle", { cx: X(p.x), cy: Y(p.y), r: 10 });
    return svg("g", { class: "rung" }, circle, label(X(p.x), Y(p.y), String(p.disc), ""), svg("title", {}, p.name));
  };
  root.append(
    line(`M${X(from)} ${Y(from * peaks.gbs)}L${X(knee)} ${Y(peaks.gflops)}`, "roof mem"),
    line(`M${X(knee)} ${Y(peaks.gflops)}H${X(x1)}`, "roof"),
    label(W / 2 + 20, H - 8, "operations for each byte", "note"),
    ...points.map(disc),
  );
  const note = html("small", {}, "GFLOP/s; dashed: memory’s limit, flat: arithmetic’s");
  return html("div", {}, html("h4", {}, "Roofline ", note), root);
}

const label = (x, y, t, cls) => svg("text", { class: cls, x, y }, t);
