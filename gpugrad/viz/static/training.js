// Training, watched: two curves while it runs; afterwards confusion, mistakes, filters, and a digit's way through.
import { figure, html, num, quiet, say, svg, unpack } from "./core.js";
import { sentence } from "./controls.js";
import { answer, layers, montage } from "./network.js";

const W = 400, H = 220, L = 46, B = 30, T = 10, R = 12;
function axes(name, x, y, log) {
  const root = svg("svg", { class: "curve", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name });
  const X = v => L + (v - x[0]) / (x[1] - x[0] || 1) * (W - L - R), f = log ? Math.log10 : v => v, Y = v => H - B - (f(v) - f(y[0])) / (f(y[1]) - f(y[0]) || 1) * (H - B - T);
  const ticks = [];
  if (log) for (let e = Math.floor(Math.log10(y[0])); e <= Math.ceil(Math.log10(y[1])); e++) for (const m of [1, 3]) ticks.push(m * 10 ** e); else for (let k = 0; k <= 4; k++) ticks.push(y[0] + (y[1] - y[0]) * k / 4);
  for (const t of ticks) if (t >= y[0] * (log ? 0.999 : 1) && t <= y[1] * 1.0001) root.append(svg("path", { class: "lat", d: `M${L} ${Y(t)}H${W - R}` }), svg("text", { class: "ax side", x: L - 6, y: Y(t) }, log ? num(t) : String(+t.toFixed(1))));
  return { root, X, Y };
}

function render({ model, el }) {
  const line = sentence(), curves = html("div", { class: "row curves" }), more = html("div", { class: "after" }), bars = answer(), maps = layers();
  const d0 = model.get("data");
  let seen = null;
  el.append(figure({ data: d0, sentence: line, pictures: [curves, more] }));
  const foot = el.querySelector("footer");
  function paint() {
    const d = model.get("data"), at = unpack(d.at), loss = unpack(d.loss), mean = unpack(d.mean), acc = d.accuracy, epochs = `${acc.length} epoch${acc.length === 1 ? "" : "s"}`, n = Math.max(2, d.batches), batches = `${d.batches.toLocaleString("en")} batch${d.batches === 1 ? "" : "es"}`;
    const real = [...loss].filter(v => Number.isFinite(v) && v > 0);
    const low = Math.min(...real, 1), top = Math.max(...real, low * 10), a = axes("training loss over batches", [0, n], [low, top], true);
    let dots = "", path = "";
    const drawn = v => v > 0 && Number.isFinite(v), point = (x, v) => `${a.X(x).toFixed(1)} ${a.Y(v).toFixed(1)}`;
    at.forEach((x, k) => {
      if (drawn(loss[k])) dots += `M${point(x, loss[k])}h0`;
      if (drawn(mean[k])) path += (path ? "L" : "M") + point(x, mean[k]);
    });
    a.root.append(svg("path", { class: "dots", d: dots || "M0 0" }),
      svg("path", { class: "mean", d: path || "M0 0" }), svg("text", { class: "note", x: (W + L) / 2, y: H - 8 }, batches));
    const worst = acc.length ? Math.min(...acc.map(p => p[1])) : 0, floor = Math.max(0, Math.floor(worst * 100 - 1)), b = axes("accuracy on the test digits", [0.5, Math.max(2, acc.length) + 0.5], [floor, 100], false);
    b.root.append(svg("path", { class: "mean", d: acc.map((p, k) => (k ? "L" : "M") + `${b.X(k + 1)} ${b.Y(100 * p[1])}`).join("") || "M0 0" }), ...acc.map((p, k) => svg("circle", { class: "dot", cx: b.X(k + 1), cy: b.Y(100 * p[1]), r: 4 })),
      ...acc.map((p, k) => k === acc.length - 1 || acc.length < 6 ? svg("text", { class: "halo", x: b.X(k + 1), y: b.Y(100 * p[1]) + (100 * p[1] > floor + (100 - floor) * 0.75 ? 15 : -12) }, (100 * p[1]).toFixed(1)) : null).filter(Boolean), svg("text", { class: "note", x: (W + L) / 2, y: H - 8 }, epochs));
    curves.replaceChildren(html("div", {}, html("h4", {}, "training loss ", html("small", {}, "batches, and their running mean")), a.root), html("div", {}, html("h4", {}, "accuracy ", html("small", {}, "on the test digits, %")), b.root));
    const wrong = d.confusion ? d.confusion.flatMap((r, i) => r.map((v, j) => i === j ? 0 : v)).reduce((p, q) => p + q, 0) : null, all = d.confusion ? d.confusion.flat().reduce((p, q) => p + q, 0) : 0;
    line.set(d.batches ? say(
      `${batches}, the last loss ${d.last}`,
      acc.length ? `; ${epochs}, ${(100 * acc.at(-1)[1]).toFixed(1)} % of the test digits right` : "",
      wrong != null ? `; ${wrong.toLocaleString("en")} of ${all.toLocaleString("en")} wrong` : "",
      d.lost ? `; for ${d.lost.toLocaleString("en")} of them the network gives no number (NaN)` : "", ".") : say("No batch yet."), !!d.confusion);
    el.dataset.batches = d.batches;
    foot.textContent = d.caption;
    if (d.confusion && JSON.stringify([d.confusion, d.digit.index]) !== seen) { seen = JSON.stringify([d.confusion, d.digit.index]); after(d); }
  }
  function after(d) {
    const most = Math.max(1, ...d.confusion.map((r, i) => Math.max(...r.map((v, j) => i === j ? 0 : v)))), C = 30;
    const grid = svg("svg", { class: "confusion", viewBox: `0 0 ${C * 10 + 30} ${C * 10 + 20}`, width: C * 10 + 30, role: "img", "aria-label": "confusion: rows what it is, columns what the network said" });
    for (let k = 0; k < 10; k++) grid.append(svg("text", { class: "ax", x: 24 + C * k + C / 2, y: 9 }, String(k)), svg("text", { class: "ax", x: 12, y: 18 + C * k + C / 2 }, String(k)));
    d.confusion.forEach((row, i) => row.forEach((v, j) => grid.append(svg("g", { class: "c" + (i === j ? " right" : "") }, svg("rect", { x: 24 + C * j, y: 18 + C * i, width: C, height: C, class: "q", style: i !== j && v ? `fill:color-mix(in srgb, var(--gg-write) ${Math.round(10 + 60 * v / most)}%, transparent)` : "" }), svg("text", { x: 24 + C * j + C / 2, y: 18 + C * i + C / 2, class: i !== j && !v ? "zero" : "" }, String(v))))));
    const ink = (getComputedStyle(el.firstChild).color.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map(Number), live = model.get("live");
    const wrong = html("div", { class: "mistakes" }, ...d.mistakes.map(m => {
      const canvas = html("canvas", { "aria-hidden": "true" });
      const b = quiet(html("button", { type: "button", disabled: !live, "aria-pressed": String(m.index === d.digit.index), title: live ? "follow it through the network" : "Needs the device: works in a running notebook.", onclick: () => model.send({ ask: "digit", index: m.index }) }, canvas, html("span", {}, `${m.label} → ${m.said}`), html("small", {}, m.sure == null ? "NaN" : `${Math.round(100 * m.sure)} % sure`)));
      montage(canvas, unpack(m.image), 1, 28, 28, 48, ink);
      return b;
    }));
    const filters = d.filters ? html("canvas", { role: "img", "aria-label": `${d.filters.shape[0]} filters` }) : null;
    const pad = html("canvas", { role: "img", "aria-label": `the image, a ${d.digit.label}` });
    more.replaceChildren(html("div", { class: "row" }, html("div", {}, html("h4", {}, "confusion ", html("small", {}, "rows: what it is; columns: what the network said")), grid),
      html("div", { class: "worst" }, html("h4", {}, "worst mistakes ", html("small", {}, "what it is → what the network said")), wrong)),
      ...(filters ? [html("h4", {}, "first layer ", html("small", {}, `${d.filters.shape[0]} filters; full ink: most positive, paper: most negative`)), filters] : []),
      html("h4", {}, `test digit ${d.digit.index} `, html("small", {}, `a ${d.digit.label}, through the network`)), html("div", { class: "digit" }, pad, bars.el), maps.el);
    montage(pad, unpack(d.digit.image), 1, 28, 28, 224, ink);
    if (filters) { const v = unpack(d.filters.values); montage(filters, Uint8Array.from(v, x => x + 128), ...d.filters.shape, 40, ink); }
    bars.show(d.digit.probabilities); maps.show(d.digit.layers);
  }
  paint();
  model.on("change:data", paint);
  return () => model.off("change:data", paint);
}
export default { render };
