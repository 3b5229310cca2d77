// A timeline: each launch a bar in the row of its family; what the families reached; the roofline.
import { figure, html, mount, say, svg } from "./core.js";
import { player, sentence } from "./controls.js";
import { roofline } from "./roofline.js";

const NAMES = 138; // how wide the families' names are
const ROW = 24;
const TICK = 64; // the least between two times
const time = us => { // three digits, in the unit that has at most three before the point
  if (us < 999.5) return `${us.toPrecision(3)} µs`;
  return us < 999500 ? `${(us / 1e3).toPrecision(3)} ms` : `${(us / 1e6).toPrecision(3)} s`;
};
const rate = v => (v >= 100 ? Math.round(v).toLocaleString("en") : v.toPrecision(2));

/** The launches by family, the one that takes longest first. */
function families(launches) {
  const groups = new Map();
  const nothing = () => ({ us: 0, bytes: 0, flops: 0 });
  const count = (sum, t) => {
    sum.us += t.us;
    sum.bytes += t.bytes ?? 0;
    sum.flops += t.flops ?? 0;
  };
  for (const t of launches) {
    if (!groups.has(t.family))
      groups.set(t.family, { name: t.family, us: 0, n: 0, moved: nothing(), computed: nothing(), both: nothing() });
    const g = groups.get(t.family);
    g.us += t.us;
    g.n++;
    if (t.bytes != null) count(g.moved, t);
    if (t.flops != null) count(g.computed, t);
    if (t.bytes && t.flops) count(g.both, t); // a point of the roofline needs both, of the same launches
  }
  const rows = [...groups.values()].sort((a, b) => b.us - a.us);
  rows.filter(g => g.both.us).forEach((g, k) => (g.disc = k + 1));
  return rows;
}

/** The bars over time, for a page of this width -> the bars. */
function drawBars(root, launches, rows, width) {
  const end = Math.max(1e-3, ...launches.map(t => t.at + t.us)); // a coarse clock may have seen no time go by
  const X = us => NAMES + (us / end) * (width - NAMES - 8);
  const bottom = rows.length * ROW;
  const line = d => svg("path", { class: "lat", d });
  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${width} ${bottom + 26}`);
  root.setAttribute("width", width);
  root.setAttribute("height", bottom + 26);
  rows.forEach((g, k) => {
    const name = g.name.length > 17 ? g.name.slice(0, 16) + "…" : g.name;
    root.append(svg("text", { class: "side", x: NAMES - 10, y: k * ROW + 16 }, name));
    root.append(line(`M${NAMES} ${k * ROW + ROW - 0.5}H${width}`));
  });
  const most = Math.max(1, Math.floor((width - NAMES) / TICK));
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5];
  const step = steps.find(v => end / v <= most) ?? end;
  for (let t = 0; t <= end; t += step) {
    const label = svg("text", { class: "ax", x: X(t), y: bottom + 14 }, t ? time(t) : "0");
    if (X(t) > width - 28) label.setAttribute("style", "text-anchor:end");
    root.append(line(`M${X(t)} 0V${bottom + 4}`), label);
  }
  const bars = launches.map((t, i) => {
    const y = rows.findIndex(g => g.name === t.family) * ROW + 8;
    const size = { x: X(t.at), y, width: Math.max(1.5, X(t.at + t.us) - X(t.at)), height: ROW - 11 };
    return svg("rect", { class: "launch", "data-i": i, ...size }, svg("title", {}, `${t.kernel}: ${time(t.us)}`));
  });
  root.append(...bars);
  return bars;
}

/** What each family took and reached, in all, and what the device can do. */
function rates(rows, peaks) {
  const total = rows.reduce((s, g) => s + g.us, 0);
  const launches = rows.reduce((s, g) => s + g.n, 0);
  const row = (tag, cells) => html("tr", {}, ...cells.map(c => html(tag, {}, c)));
  const share = g => {
    const percent = (100 * g.us) / total;
    const bar = html("span", { class: "share" }, html("i", { style: `width:${percent}%` }));
    return html("span", {}, bar, ` ${percent.toFixed(1)} %`);
  };
  const family = g => {
    const disc = g.disc ? html("span", { class: "disc" }, String(g.disc)) : "";
    const gbs = g.moved.us ? rate(g.moved.bytes / g.moved.us / 1e3) : "";
    const gflops = g.computed.us ? rate(g.computed.flops / g.computed.us / 1e3) : "";
    return row("td", [disc, g.name, String(g.n), time(g.us), share(g), gbs, gflops]);
  };
  const all = row("td", ["", "all", String(launches), time(total), "", "", ""]);
  const peak = row("td", ["", "device’s peak", "", "", "", rate(peaks.gbs), rate(peaks.gflops)]);
  const head = row("th", ["", "family", "launches", "time", "share", "GB/s", "GFLOP/s"]);
  const [top, body, foot] = [
    html("thead", {}, head),
    html("tbody", {}, ...rows.map(family)),
    html("tfoot", {}, all, peak),
  ];
  return html("table", { class: "rates" }, top, body, foot);
}

/** One launch in words: how long, and how near the device's peaks. */
function inWords(t, peaks) {
  const of = (amount, unit, peak) => {
    if (amount == null || !t.us) return "";
    const v = amount / t.us / 1e3;
    return `; ${rate(v)} ${unit} (${Math.round((100 * v) / peak)} % of the peak)`;
  };
  const reached = of(t.bytes, "GB/s", peaks.gbs) + of(t.flops, "GFLOP/s", peaks.gflops);
  const took = ` (${t.family}${t.variant}) takes ${time(t.us)}, from ${time(t.at || 0)} on${reached}. `;
  return say({ code: t.kernel }, took, { v: "note", t: t.shapes || "no arrays" });
}

function draw(model, el) {
  const d = model.get("data");
  const launches = d.launches;
  const rows = families(launches);
  const line = sentence();
  let pos = Math.min(model.get("pos"), launches.length - 1);
  const families_ = rows.length === 1 ? "1 family" : `${rows.length} families`;
  const name = `${launches.length} launch${launches.length === 1 ? "" : "es"} in ${families_}`;
  const root = svg("svg", { class: "timeline", role: "img", "aria-label": name });
  const set = p => {
    pos = p;
    model.set("pos", p);
    model.save_changes();
    paint();
  };
  const text = p => `launch ${p + 1} of ${launches.length}`;
  const pl = player({ label: "launch", get: () => pos, set, text, pace: 350 });
  const tip = svg("path", { class: "here" }); // points at the chosen launch: its colour is not the only sign
  let bars = [];
  root.addEventListener("click", e => {
    const i = e.target.dataset?.i;
    if (i == null) return;
    pl.stop();
    set(+i);
  });
  function paint() {
    bars.forEach((b, i) => b.setAttribute("class", "launch" + (i === pos ? " now" : "")));
    const here = bars[pos];
    const [x, y] = [+here.getAttribute("x") + here.getAttribute("width") / 2, +here.getAttribute("y")];
    tip.setAttribute("d", `M${x} ${y}l-5 -7h10z`);
    root.append(here, tip); // above the others
    line.set(inWords(launches[pos], d.peaks), !pl.playing());
    pl.update();
    el.dataset.pos = pos;
  }
  const point = g => ({
    disc: g.disc,
    name: g.name,
    x: g.both.flops / g.both.bytes,
    y: g.both.flops / g.both.us / 1e3,
  });
  const points = rows.filter(g => g.disc).map(point);
  const table = html("div", { class: "scroll" }, rates(rows, d.peaks));
  const roof = points.length ? roofline(points, d.peaks, rate) : null;
  const pictures = [html("div", {}, root), html("div", { class: "row rooms" }, table, roof)];
  el.append(figure({ data: d, player: pl, sentence: line, pictures }));
  pl.steps(new Array(launches.length).fill(""));
  const again = () => {
    bars = drawBars(root, launches, rows, Math.max(320, root.parentNode.clientWidth || 832));
    paint();
  };
  again();
  const size = new ResizeObserver(again);
  size.observe(el);
  const follow = () => {
    if (model.get("pos") === pos || !(model.get("pos") < launches.length)) return;
    pos = model.get("pos");
    paint();
  };
  model.on("change:pos", follow);
  return () => {
    pl.stop();
    size.disconnect();
    model.off("change:pos", follow);
  };
}

export default { render: mount(draw) };
