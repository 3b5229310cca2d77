// Training, watched: two curves while it runs; afterwards confusion, mistakes, filters, and a digit's way through.
import { figure, html, num, quiet, say, svg, unpack } from "./core.js";
import { sentence } from "./controls.js";
import { answer, inkOf, layers, montage, onTheme } from "./network.js";

const [W, H, LEFT, BOTTOM, TOP_, RIGHT] = [400, 220, 46, 30, 10, 12];
const CELL_ = 30; // of the confusion matrix
const many = (n, one, more) => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;

/** Where the lines of an axis go. */
function ticks([low, high], log) {
  if (!log) return [0, 1, 2, 3, 4].map(k => low + ((high - low) * k) / 4);
  const out = [];
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const each = Math.ceil((last - first) / 6); // of many powers of ten, some
  for (let e = first; e <= last; e += each) out.push(10 ** e, ...(each > 1 ? [] : [3 * 10 ** e]));
  return out.filter(t => t >= low * 0.999 && t <= high * 1.0001);
}

/** An empty plot over x and y, each [from, to]. */
function axes(name, x, y, log, below) {
  const root = svg("svg", { class: "curve", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name });
  const f = log ? Math.log10 : v => v;
  const X = v => LEFT + ((v - x[0]) / (x[1] - x[0] || 1)) * (W - LEFT - RIGHT);
  const Y = v => H - BOTTOM - ((f(v) - f(y[0])) / (f(y[1]) - f(y[0]) || 1)) * (H - BOTTOM - TOP_);
  for (const t of ticks(y, log)) {
    const label = log ? num(t) : String(+t.toFixed(1));
    root.append(svg("path", { class: "lat", d: `M${LEFT} ${Y(t)}H${W - RIGHT}` }));
    root.append(svg("text", { class: "ax side", x: LEFT - 6, y: Y(t) }, label));
  }
  root.append(svg("text", { class: "note", x: (W + LEFT) / 2, y: H - 8 }, below));
  return { root, X, Y };
}

/** The loss of each batch and its running mean; what is NaN, infinite or not positive has no place on a log axis. */
function lossCurve(d) {
  const [at, loss, mean] = [d.at, d.loss, d.mean].map(unpack);
  const drawn = v => v > 0 && Number.isFinite(v);
  const real = [...loss].filter(drawn);
  const low = Math.min(...real, 1);
  const high = Math.max(...real, low * 10);
  const batches = many(d.batches, "batch", "batches");
  const a = axes("training loss over batches", [0, Math.max(2, d.batches)], [low, high], true, batches);
  const point = (x, v) => `${a.X(x).toFixed(1)} ${a.Y(v).toFixed(1)}`;
  let dots = "";
  let path = "";
  at.forEach((x, k) => {
    if (drawn(loss[k])) dots += `M${point(x, loss[k])}h0`;
    if (drawn(mean[k])) path += (path ? "L" : "M") + point(x, mean[k]);
  });
  a.root.append(svg("path", { class: "dots", d: dots || "M0 0" }), svg("path", { class: "mean", d: path || "M0 0" }));
  return a.root;
}

function accuracyCurve({ accuracy }) {
  const percent = accuracy.map(p => 100 * p[1]);
  const least = Math.floor(Math.min(...(percent.length ? percent : [0])) - 1);
  const floor = Math.max(0, 100 - 4 * Math.ceil((100 - least) / 4)); // four steps of whole numbers
  const epochs = many(percent.length, "epoch", "epochs");
  const across = [0.5, Math.max(2, percent.length) + 0.5];
  const a = axes("accuracy on the test digits", across, [floor, 100], false, epochs);
  const path = percent.map((v, k) => `${k ? "L" : "M"}${a.X(k + 1)} ${a.Y(v)}`).join("");
  a.root.append(svg("path", { class: "mean", d: path || "M0 0" }));
  percent.forEach((v, k) => {
    const [cx, cy] = [a.X(k + 1), a.Y(v)];
    const high = v > floor + (100 - floor) * 0.75;
    a.root.append(svg("circle", { class: "dot", cx, cy, r: 4 }));
    if (k < percent.length - 1 && percent.length >= 6) return;
    a.root.append(svg("text", { class: "halo", x: cx, y: cy + (high ? 15 : -12) }, v.toFixed(1)));
  });
  return a.root;
}

const wrongOf = confusion => confusion.flatMap((r, i) => r.filter((_, j) => i !== j)).reduce((a, b) => a + b, 0);

/** How it stands, in words; describe() says the same. */
function inWords(d) {
  if (!d.batches) return say("No batch yet.");
  const n = d.accuracy.length;
  const right = n
    ? `; ${many(n, "epoch", "epochs")}, ${(100 * d.accuracy[n - 1][1]).toFixed(1)} % of the test digits right`
    : "";
  const all = d.confusion?.flat().reduce((a, b) => a + b, 0);
  const wrong = d.confusion
    ? `; ${wrongOf(d.confusion).toLocaleString("en")} of ${all.toLocaleString("en")} wrong`
    : "";
  const lost = d.lost ? `; for ${d.lost.toLocaleString("en")} of them the network gives no number (NaN)` : "";
  return say(`${many(d.batches, "batch", "batches")}, the last loss ${d.last}`, right, wrong, lost, ".");
}

function confusionMatrix(confusion) {
  const most = Math.max(1, ...confusion.map((r, i) => Math.max(...r.filter((_, j) => i !== j))));
  const name = "confusion: rows what it is, columns what the network said";
  const [w, h] = [CELL_ * 10 + 30, CELL_ * 10 + 20];
  const root = svg("svg", { class: "confusion", viewBox: `0 0 ${w} ${h}`, width: w, role: "img", "aria-label": name });
  const middle = k => CELL_ * k + CELL_ / 2;
  for (let k = 0; k < 10; k++) {
    root.append(svg("text", { class: "ax", x: 24 + middle(k), y: 9 }, String(k)));
    root.append(svg("text", { class: "ax", x: 12, y: 18 + middle(k) }, String(k)));
  }
  confusion.forEach((row, i) =>
    row.forEach((v, j) => {
      const heat = `fill:color-mix(in srgb, var(--gg-write) ${Math.round(10 + (60 * v) / most)}%, transparent)`;
      const place = { x: 24 + CELL_ * j, y: 18 + CELL_ * i, width: CELL_, height: CELL_, class: "q" };
      const rect = svg("rect", { ...place, style: i !== j && v ? heat : "" });
      const text = { x: 24 + middle(j), y: 18 + middle(i), class: i !== j && !v ? "zero" : "" };
      root.append(svg("g", { class: "c" + (i === j ? " right" : "") }, rect, svg("text", text, String(v))));
    }),
  );
  return root;
}

/** The mistakes that the network was surest of; each is a button that follows it through the network. */
function worst(d, model, ink) {
  const live = model.get("live");
  const title = live ? "follow it through the network" : "Needs the device: works in a running notebook.";
  const mistake = m => {
    const canvas = html("canvas", { "aria-hidden": "true" });
    const onclick = () => model.send({ ask: "digit", index: m.index });
    const state = { disabled: !live, "aria-pressed": String(m.index === d.digit.index), title, onclick };
    const sure = m.sure == null ? "NaN" : `${Math.floor(100 * m.sure)} % sure`; // rounded up, 99.5 % would be certain
    const said = [html("span", {}, `${m.label} → ${m.said}`), html("small", {}, sure)];
    montage(canvas, unpack(m.image), 1, 28, 28, 48, ink);
    return quiet(html("button", { type: "button", ...state }, canvas, ...said));
  };
  return html("div", { class: "mistakes" }, ...d.mistakes.map(mistake));
}

function render({ model, el }) {
  const line = sentence();
  const curves = html("div", { class: "row curves" });
  const more = html("div", { class: "after" });
  const bars = answer();
  const maps = layers();
  let seen = null;
  el.append(figure({ data: model.get("data"), sentence: line, pictures: [curves, more] }));
  const foot = el.querySelector("footer");
  const headed = (name, note, ...parts) =>
    html("div", {}, html("h4", {}, name + " ", html("small", {}, note)), ...parts);

  function paint() {
    const d = model.get("data");
    curves.replaceChildren(
      headed("training loss", "batches, and their running mean", lossCurve(d)),
      headed("accuracy", "on the test digits, %", accuracyCurve(d)),
    );
    line.set(inWords(d), !!d.confusion);
    el.dataset.batches = d.batches;
    foot.textContent = d.caption;
    const now = d.confusion ? JSON.stringify([d.confusion, d.digit.index]) : null;
    if (now && now !== seen) after(d);
    seen = now;
  }
  function after(d) {
    const ink = inkOf(el.firstChild);
    const kind = "rows: what it is; columns: what the network said";
    const mistakes = headed("worst mistakes", "what it is → what the network said", worst(d, model, ink));
    mistakes.className = "worst";
    const pad = html("canvas", { role: "img", "aria-label": `the image, a ${d.digit.label}` });
    const filters = d.filters ? html("canvas", { role: "img", "aria-label": `${d.filters.shape[0]} filters` }) : null;
    const signs = d.filters ? `${d.filters.shape[0]} filters; full ink: most positive, paper: most negative` : "";
    more.replaceChildren(
      html("div", { class: "row" }, headed("confusion", kind, confusionMatrix(d.confusion)), mistakes),
      ...(filters ? [headed("first layer", signs, filters)] : []),
      headed(`test digit ${d.digit.index}`, `a ${d.digit.label}, through the network`),
      html("div", { class: "digit" }, pad, bars.el),
      maps.el,
    );
    montage(pad, unpack(d.digit.image), 1, 28, 28, 224, ink);
    const signed = d.filters ? Uint8Array.from(unpack(d.filters.values), v => v + 128) : null;
    if (filters) montage(filters, signed, ...d.filters.shape, 40, ink);
    bars.show(d.digit.probabilities);
    maps.show(d.digit.layers);
  }
  paint();
  model.on("change:data", paint);
  const still = onTheme(() => {
    seen = null;
    paint();
  });
  return () => {
    still();
    model.off("change:data", paint);
  };
}

export default { render };
