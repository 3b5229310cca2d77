// Which cells of the inputs go into which cells of the output, as the recorded loads and stores say.
import { html, bars, bracket, figure, fit, mount, num, product, say, unpack, SMALL } from "./core.js";
import { grid, planeName } from "./grid.js";
import { player, sentence, choice, options } from "./controls.js";
import { links } from "./links.js";
import { KINDS, used } from "./map_kinds.js";

/** For each cell of the output its inputs [buffer, index], in the order in which they were read; and back. */
function relation(d) {
  const to = unpack(d.pairs.to);
  const buffer = unpack(d.pairs.buffer);
  const at = unpack(d.pairs.at);
  const sources = new Map();
  const targets = d.buffers.map(() => new Map());
  to.forEach((o, k) => {
    if (!sources.has(o)) sources.set(o, []);
    sources.get(o).push([buffer[k], at[k]]);
    const t = targets[buffer[k]];
    if (!t.has(at[k])) t.set(at[k], []);
    if (t.get(at[k]).at(-1) !== o) t.get(at[k]).push(o);
  });
  return { of: o => sources.get(o) ?? [], uses: (b, i) => targets[b].get(i) ?? [] };
}

/** A flat number along several sizes: what the labels of col's rows and columns are made of. */
const split = (i, sizes) => {
  const all = [];
  for (const s of [...sizes].reverse()) {
    all.unshift(i % s);
    i = Math.floor(i / s);
  }
  return all;
};

/** A grid for each buffer. on(k) gives what happens when a cell of grid k is pointed at. */
function mapGrids(d, values, on) {
  const all = function* () {
    for (const v of values) yield* v.subarray(0, 4000);
  };
  const wide = fit(all());
  return d.buffers.map((b, k) => {
    const labels = d.labels?.[k] ?? {};
    const tall = b.pad != null || b.tall;
    const g = grid({
      name: b.name,
      note: b.note,
      shape: b.shape,
      wide,
      pad: b.pad,
      vertical: tall,
      plane: b.shape.length > 2 ? planeName(b.shape, b.axes) : undefined,
      rows: labels.rows && (y => split(y, labels.rows).join(",")),
      cols: labels.cols && (x => split(x, labels.cols).map(String)),
      block: labels.rows ? [product(labels.rows.slice(1)), b.shape.at(-1)] : undefined,
      room: tall ? [300, 560] : d.map === "cells" ? [380, 460] : [560, 610],
      ...on(k),
    });
    g.el.classList.add(k === d.buffers.length - 1 ? "out" : "in");
    return g;
  });
}

/** Crops the grids to what the page has: im2col and col2im stand beside each other, unless it is a phone's. */
function arrangeGrids(grids, d, room) {
  if (d.layout === "cross") grids.forEach(g => g.within(room < SMALL ? (room - 28) / 2 : room));
  else if (d.map === "cells" || room < SMALL) grids.forEach(g => g.within(room));
  else {
    const narrow = grids[d.map === "im2col" ? 0 : 1];
    const other = grids[d.map === "im2col" ? 1 : 0];
    narrow.within(room);
    other.within(room - narrow.width() - 48);
  }
}

function draw(model, el) {
  const d = model.get("data");
  const r = relation(d);
  const bufs = d.buffers;
  const values = bufs.map(b => unpack(b.values));
  const last = bufs.length - 1;
  const out = bufs[last];
  const kind = KINDS[d.map](d, r, bufs, values);
  const st = { pos: Math.min(model.get("pos"), kind.count - 1), at: null, counts: d.map === "col2im" };
  const set = p => {
    st.pos = p;
    st.at = null;
    model.set("pos", p);
    model.save_changes();
    paint();
  };
  const pl = player({ label: kind.label, get: () => st.pos, set, text: kind.text, pace: 600 });
  const line = sentence();
  const heard = m => {
    if (m.error) line.set(say({ v: "x", t: "✕ not possible" }, " " + m.error));
  };
  model.on("msg:custom", heard);

  const cell = (b, i) => bracket(bufs[b].name, i, bufs[b].shape);
  const grids = mapGrids(d, values, k => ({
    onpoint(i) {
      st.at = [k, i];
      paint();
    },
    onleave() {
      if (!st.at) return;
      st.at = null;
      paint();
    },
    onpick(i) {
      const o = k === last ? i : r.uses(k, i)[0];
      pl.stop();
      if (o != null) set(kind.where(o));
    },
    speak: i => `${cell(k, i)}, ${k === last ? `made from ${r.of(i).length} cells` : used(r.uses(k, i).length)}`,
  }));

  // Numbers for the order of reading, each buffer by itself: those of two factors of one product agree.
  const order = from => {
    const count = bufs.map(() => 0);
    const numbers = new Map();
    for (const [b, i] of from) numbers.set(b + ":" + i, String(++count[b]));
    const most = Math.max(...count);
    return kind.ordered && most > 1 && most <= 9 ? numbers : new Map();
  };

  /** What wears a sign now: cells by buffer, numbers in their corners, pairs for curves, the sentence. */
  function chosen() {
    const signs = bufs.map(() => new Map());
    const made = d.atomic ? "a" : "w";
    const badge = new Map();
    const pairs = [];
    const target = (o, whole) => {
      signs[last].set(o, whole ? made : made + "0");
      for (const [b, i] of r.of(o)) {
        signs[b].set(i, whole ? "r" : "r0");
        if (whole) pairs.push([b, i, o]);
      }
      if (whole) order(r.of(o)).forEach((t, at) => badge.set(at, t));
    };
    if (st.at && st.at[0] === last) {
      target(st.at[1], true);
      return { signs, badge, pairs, words: kind.target(st.at[1], r.of(st.at[1])) };
    }
    if (st.at) {
      const [b, i] = st.at;
      const to = r.uses(b, i);
      signs[b].set(i, "r");
      for (const o of to) {
        signs[last].set(o, made);
        pairs.push([b, i, o]);
      }
      return { signs, badge, pairs, words: kind.source(b, i, to) };
    }
    const mine = kind.cells(st.pos);
    mine.forEach(o => target(o, mine.length === 1));
    return { signs, badge, pairs, words: kind.words(st.pos, mine) };
  }

  const most = st.counts ? Math.max(1, ...Array.from({ length: product(out.shape) }, (_, o) => r.of(o).length)) : 1;
  function paintGrid(g, k, { signs, badge }) {
    const touched = [...signs[k]];
    g.touch(touched);
    if (touched.length && st.at?.[0] !== k) {
      const places = touched.map(t => t[0]);
      g.show(Math.min(...places), places);
    }
    g.frames(kind.frames?.(k, st.pos, st.at) ?? []);
    const rings = kind.ring?.(st.pos, st.at) ?? new Set();
    const cellOf = i => {
      const counts = k === last && st.counts;
      const windows = k === last ? r.of(i).length : 0;
      const none = k === last && d.map === "im2col" && !windows ? "none " : "";
      const how = none + (counts ? "heat " : "") + (signs[k].get(i) ?? "");
      const t = num(counts ? windows : values[k][i]);
      return [t, how, badge.get(k + ":" + i) ?? "", counts ? (42 * windows) / most : null];
    };
    g.paint(cellOf, (p, y, x) => (rings.has(`${p},${y},${x}`) ? "too" : ""));
  }

  function paint() {
    const now = chosen();
    grids.forEach((g, k) => paintGrid(g, k, now));
    line.set(say(now.words), !pl.playing());
    pl.update();
    connect(now.pairs);
    el.dataset.pos = st.pos;
  }

  const body = html("div", { class: `map ${d.map} ${d.layout ?? ""}` }, ...grids.map(g => g.el));
  const wire = links(body);
  const box = g => g.svg.getBoundingClientRect();
  function connect(pairs) {
    if (!pairs.length || bufs.length > 2) return wire([]); // measuring forces a layout: only for few curves
    const ends = pairs.map(([, i, o]) => [grids[0].rect(i), grids[1].rect(o)]).filter(([a, z]) => a && z);
    return wire(ends, box(grids[0]), box(grids[1]));
  }

  const opts = options(model);
  const views = [
    [true, "how many windows"],
    [false, "the sum"],
  ];
  const setCounts = v => {
    st.counts = v;
    paint();
  };
  const counts = st.counts ? [choice(`cells of ${out.name} show`, views, () => st.counts, setCounts).el] : [];
  const beside = d.bars ? html("div", { class: "beside" }, bars(d.bars), html("p", {}, d.bars.text)) : null;
  const pictures = [html("div", { class: "row" }, body, beside)];
  const all = [...opts.els, ...counts];
  el.append(figure({ data: d, options: all, player: pl, sentence: line, pictures, legend: kind.legend }));
  pl.steps(new Array(kind.count).fill(""));
  paint();
  const again = new ResizeObserver(() => {
    if (pictures[0].clientWidth) arrangeGrids(grids, d, pictures[0].clientWidth);
    paint();
  });
  again.observe(pictures[0]);
  const follow = () => {
    const p = model.get("pos");
    if (p === st.pos || p < 0 || p >= kind.count) return;
    st.pos = p;
    st.at = null;
    paint();
  };
  model.on("change:pos", follow);
  return () => {
    pl.stop();
    again.disconnect();
    model.off("change:pos", follow);
    model.off("msg:custom", heard);
  };
}

export default { render: mount(draw) };
