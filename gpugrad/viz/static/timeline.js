// A timeline: each launch a bar in the row of its family; what the families reached; the roofline.
import { figure, html, mount, say, svg } from "./core.js";
import { player, sentence } from "./controls.js";

const time = us => us >= 1000 ? `${(us / 1000).toPrecision(3)} ms` : `${us.toPrecision(3)} µs`;
const rate = v => v >= 100 ? Math.round(v).toLocaleString("en") : v.toPrecision(2);

function draw(model, el) {
  const d = model.get("data"), L = d.launches, line = sentence(), LEFT = 138, ROW = 24;
  let pos = Math.min(model.get("pos"), L.length - 1);
  const groups = new Map();
  const count = (sum, t) => { sum.us += t.us; sum.bytes += t.bytes ?? 0; sum.flops += t.flops ?? 0; };
  const nothing = () => ({ us: 0, bytes: 0, flops: 0 });
  L.forEach((t, i) => {
    if (!groups.has(t.family)) groups.set(t.family, { name: t.family, us: 0, n: 0, moved: nothing(), computed: nothing(), both: nothing() });
    const g = groups.get(t.family);
    g.us += t.us; g.n++; t.i = i;
    if (t.bytes != null) count(g.moved, t);
    if (t.flops != null) count(g.computed, t);
    if (t.bytes && t.flops) count(g.both, t);      // a point of the roofline needs both, of the same launches
  });
  const rows = [...groups.values()].sort((a, b) => b.us - a.us), total = rows.reduce((s, g) => s + g.us, 0), end = Math.max(...L.map(t => t.at + t.us));
  rows.forEach((g, k) => { g.row = k; });
  const root = svg("svg", { class: "timeline", role: "img", "aria-label": `${L.length} launches in ${rows.length} families` });
  const set = p => { pos = p; model.set("pos", p); model.save_changes(); paint(); };
  const pl = player({ label: "launch", get: () => pos, set, text: p => `launch ${p + 1} of ${L.length}`, pace: 350 });
  let bars = [];
  function build() {
    const W = Math.max(320, root.parentNode.clientWidth || 832), X = us => LEFT + us / end * (W - LEFT - 8), H = rows.length * ROW + 26;
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${W} ${H}`); root.setAttribute("width", W); root.setAttribute("height", H);
    rows.forEach((g, k) => root.append(svg("text", { class: "side", x: LEFT - 10, y: k * ROW + 12 }, g.name.length > 17 ? g.name.slice(0, 16) + "…" : g.name), svg("path", { class: "lat", d: `M${LEFT} ${k * ROW + ROW - 0.5}H${W}` })));
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap(v => [v, v * 1000]).sort((a, b) => a - b).find(v => end / v <= 8) ?? end;
    for (let t = 0; t <= end; t += step) root.append(svg("path", { class: "lat", d: `M${X(t)} 0V${rows.length * ROW + 4}` }), svg("text", { class: "ax", x: X(t), y: rows.length * ROW + 14 }, t ? time(t) : "0"));
    bars = L.map((t, i) => svg("rect", { class: "launch", "data-i": i, x: X(t.at), y: groups.get(t.family).row * ROW + 4, width: Math.max(1.5, X(t.at + t.us) - X(t.at)), height: ROW - 9 }, svg("title", {}, `${t.kernel}: ${time(t.us)}`)));
    root.append(...bars);
  }
  root.addEventListener("click", e => { const i = e.target.dataset?.i; if (i != null) { pl.stop(); set(+i); } });
  const of = (v, peak) => `${rate(v)} (${Math.round(100 * v / peak)} % of the peak)`;
  function paint() {
    const t = L[pos], gbs = t.bytes != null && t.us ? t.bytes / t.us / 1e3 : null, gf = t.flops != null && t.us ? t.flops / t.us / 1e3 : null;
    bars.forEach((b, i) => b.setAttribute("class", "launch" + (i === pos ? " now" : "")));
    if (bars[pos]) root.append(bars[pos]);
    line.set(say({ code: t.kernel }, ` (${t.family}${t.variant}) takes ${time(t.us)}, from ${time(t.at || 0)} on`, gbs != null ? `; ${of(gbs, d.peaks.gbs)} GB/s` : "", gf != null ? `; ${of(gf, d.peaks.gflops)} GFLOP/s` : "", ". ", { v: "note", t: t.shapes || "no arrays" }), !pl.playing());
    pl.update();
    el.dataset.pos = pos;
  }
  let disc = 0;
  rows.forEach(g => { if (g.both.us) g.disc = ++disc; });
  const table = html("table", { class: "rates" }, html("thead", {}, html("tr", {}, ...["", "family", "launches", "time", "share", "GB/s", "GFLOP/s"].map(t => html("th", {}, t)))),
    html("tbody", {}, ...rows.map(g => html("tr", {}, html("td", {}, g.disc ? html("span", { class: "disc" }, String(g.disc)) : ""), html("td", {}, g.name), html("td", {}, String(g.n)), html("td", {}, time(g.us)),
      html("td", {}, html("span", { class: "share" }, html("i", { style: `width:${100 * g.us / total}%` })), ` ${(100 * g.us / total).toFixed(1)} %`), html("td", {}, g.moved.us ? rate(g.moved.bytes / g.moved.us / 1e3) : ""), html("td", {}, g.computed.us ? rate(g.computed.flops / g.computed.us / 1e3) : "")))),
    html("tfoot", {}, html("tr", {}, html("td", {}), html("td", {}, "device’s peak"), html("td", {}), html("td", {}, time(total)), html("td", {}), html("td", {}, rate(d.peaks.gbs)), html("td", {}, rate(d.peaks.gflops)))));
  el.append(figure({ data: d, player: pl, sentence: line, pictures: [html("div", {}, root), html("div", { class: "row rooms" }, html("div", { class: "scroll" }, table), disc ? roofline(rows.filter(g => g.disc), d.peaks) : null)] }));
  pl.steps(new Array(L.length).fill(""));
  build(); paint();
  const size = new ResizeObserver(() => { build(); paint(); });
  size.observe(el);
  return () => { pl.stop(); size.disconnect(); };
}

/** GFLOP/s over operations for each byte; the slope is the memory's roof, the flat part the arithmetic's. */
function roofline(rows, peaks) {
  const W = 380, H = 270, L = 52, B = 40, T = 14, R = 24, points = rows.map(g => ({ disc: g.disc, name: g.name, x: g.both.flops / g.both.bytes, y: g.both.flops / g.both.us / 1e3 }));
  const lo = v => 10 ** Math.floor(Math.log10(v)), hi = v => 10 ** Math.ceil(Math.log10(v)), knee = peaks.gflops / peaks.gbs;
  const x0 = lo(Math.min(knee / 10, ...points.map(p => p.x))), x1 = hi(Math.max(knee * 10, ...points.map(p => p.x)) * 1.01), y0 = lo(Math.min(peaks.gflops / 100, ...points.map(p => p.y))), y1 = hi(Math.max(peaks.gflops, ...points.map(p => p.y)) * 1.01);
  const X = v => L + (Math.log10(v) - Math.log10(x0)) / (Math.log10(x1) - Math.log10(x0)) * (W - L - R), Y = v => H - B - (Math.log10(v) - Math.log10(y0)) / (Math.log10(y1) - Math.log10(y0)) * (H - B - T);
  const root = svg("svg", { class: "roofline", width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `roofline: ${points.map(p => `${p.name} ${rate(p.y)} GFLOP/s`).join(", ")}` });
  const name = v => v >= 1000 ? v.toLocaleString("en") : String(+v.toPrecision(1));
  for (let v = x0; v <= x1 * 1.01; v *= 10) root.append(svg("path", { class: "lat", d: `M${X(v)} ${T}V${H - B}` }), svg("text", { class: "ax", x: X(v), y: H - B + 12 }, name(v)));
  for (let v = y0; v <= y1 * 1.01; v *= 10) root.append(svg("path", { class: "lat", d: `M${L} ${Y(v)}H${W - R}` }), svg("text", { class: "ax side", x: L - 6, y: Y(v) }, name(v)));
  const from = Math.max(x0, y0 / peaks.gbs);
  root.append(svg("path", { class: "roof mem", d: `M${X(from)} ${Y(from * peaks.gbs)}L${X(knee)} ${Y(peaks.gflops)}` }), svg("path", { class: "roof", d: `M${X(knee)} ${Y(peaks.gflops)}H${X(x1)}` }),
    svg("text", { class: "note", x: W / 2 + 20, y: H - 8 }, "operations for each byte"),
    ...points.map(p => svg("g", { class: "rung" }, svg("circle", { cx: X(p.x), cy: Y(p.y), r: 10 }), svg("text", { x: X(p.x), y: Y(p.y) }, String(p.disc)), svg("title", {}, p.name))));
  return html("div", {}, html("h4", {}, "Roofline ", html("small", {}, "GFLOP/s; dashed: memory’s limit, flat: arithmetic’s")), root);
}
export default { render: mount(draw) };
