// Which cells of the inputs go into which cells of the output, as the recorded loads and stores say.
import { html, bars, bracket, figure, fit, mount, num, product, say, unpack } from "./core.js";
import { grid, planeName } from "./grid.js";
import { player, sentence, choice, options } from "./controls.js";
import { links } from "./links.js";

const times = n => n === 1 ? "once" : n === 2 ? "twice" : `${n} times`;

/** The relation: for each cell of the output its inputs [buffer, index], in the order in which they were read; and back. */
function relation(d) {
  const to = unpack(d.pairs.to), buffer = unpack(d.pairs.buffer), at = unpack(d.pairs.at), out = d.buffers.length - 1;
  const sources = new Map(), targets = d.buffers.map(() => new Map());
  to.forEach((o, k) => {
    if (!sources.has(o)) sources.set(o, []);
    sources.get(o).push([buffer[k], at[k]]);
    const t = targets[buffer[k]];
    if (!t.has(at[k])) t.set(at[k], []);
    if (t.get(at[k]).at(-1) !== o) t.get(at[k]).push(o);
  });
  return { of: o => sources.get(o) ?? [], uses: (b, i) => targets[b].get(i) ?? [], out };
}

function draw(model, el) {
  const d = model.get("data"), r = relation(d), bufs = d.buffers, values = bufs.map(b => unpack(b.values)), last = bufs.length - 1;
  const out = bufs[last], kind = KINDS[d.map](d, r, bufs, values), n = kind.count;
  const st = { pos: Math.min(model.get("pos"), n - 1), at: null, counts: d.map === "col2im" };
  const cell = (b, i) => bracket(bufs[b].name, i, bufs[b].shape), value = (b, i) => ({ code: `${cell(b, i)} = ${num(values[b][i])}` });
  const set = p => { st.pos = p; st.at = null; model.set("pos", p); model.save_changes(); paint(); };
  const pl = player({ label: kind.label, get: () => st.pos, set, text: kind.text, pace: 600 }), line = sentence();
  const heard = m => { if (m.error) line.set(say({ v: "x", t: "✕ not possible" }, " " + m.error)); };
  model.on("msg:custom", heard);

  // Numbers for the order of reading, each buffer by itself: those of two factors of one product agree.
  const order = from => {
    const count = bufs.map(() => 0), out = new Map();
    for (const [b, i] of from) out.set(b + ":" + i, String(++count[b]));
    return kind.ordered && Math.max(...count) > 1 && Math.max(...count) <= 9 ? out : new Map();
  };
  const wide = fit(function* () { for (const v of values) yield* v.subarray(0, 4000); }());
  const most = st.counts ? Math.max(1, ...Array.from({ length: product(out.shape) }, (_, o) => r.of(o).length)) : 1;
  const grids = bufs.map((b, k) => {
    const labels = d.labels?.[k] ?? {}, split = spec => spec && (i => { const all = []; for (const s of [...spec].reverse()) { all.unshift(i % s); i = Math.floor(i / s); } return all; });
    const rows = split(labels.rows), cols = split(labels.cols), H = b.shape.at(-2), W = b.shape.at(-1);
    return grid({ name: b.name, note: b.note, shape: b.shape, wide, pad: b.pad, vertical: b.pad != null || b.tall, plane: b.shape.length > 2 ? planeName(b.shape, b.axes) : undefined,
      rows: rows && (y => rows(y).join(",")), cols: cols && (x => { const [u, v] = cols(x); return [`${u}`, `${v}`]; }),
      block: labels.rows ? [product(labels.rows.slice(1)), W] : undefined, room: b.pad != null || b.tall ? [300, 560] : d.map === "cells" ? [380, 460] : [560, 610],
      onpoint: i => { st.at = [k, i]; paint(); }, onleave: () => { if (st.at) { st.at = null; paint(); } },
      onpick: i => { const p = k === last ? kind.where(i) : r.uses(k, i).length ? kind.where(r.uses(k, i)[0]) : null; pl.stop(); if (p != null) set(p); },
      speak: i => k === last ? `${cell(k, i)}, made from ${r.of(i).length} cells` : `${cell(k, i)}, used ${times(r.uses(k, i).length)}` });
  });
  grids.forEach((g, k) => g.el.classList.add(k === last ? "out" : "in"));

  function paint() {
    const cls = bufs.map(() => new Map()), badge = new Map(), pairs = [], mark = (b, i, c) => cls[b].set(i, c);
    const made = d.atomic ? "a" : "w", link = (b, i, o) => pairs.push([b, i, o]);
    let words;
    const mine = kind.cells(st.pos);
    if (st.at && st.at[0] === last) {
      const o = st.at[1], from = r.of(o);
      mark(last, o, made);
      from.forEach(([b, i]) => { mark(b, i, "r"); link(b, i, o); });
      order(from).forEach((t, at) => badge.set(at, t));
      words = kind.target(o, from);
    } else if (st.at) {
      const [b, i] = st.at, to = r.uses(b, i);
      mark(b, i, "r");
      to.forEach(o => { mark(last, o, made); link(b, i, o); });
      words = kind.source(b, i, to);
    } else {
      const one = mine.length === 1;
      for (const o of mine) {
        mark(last, o, one ? made : made + "0");
        r.of(o).forEach(([b, i]) => { mark(b, i, one ? "r" : "r0"); if (one) link(b, i, o); });
        if (one) order(r.of(o)).forEach((t, at) => badge.set(at, t));
      }
      words = kind.words(st.pos, mine);
    }
    const rings = kind.ring?.(st.pos, st.at) ?? new Set();
    grids.forEach((g, k) => {
      const touched = [...cls[k]];
      g.touch(touched);
      if (!st.at || st.at[0] !== k) { const list = touched.map(x => x[0]); if (list.length) { g.show(Math.max(...list)); g.show(Math.min(...list)); } }
      g.frames(kind.frames?.(k, st.pos, st.at) ?? []);
      g.paint(i => {
        const sign = cls[k].get(i) ?? "", heat = k === last && st.counts ? 42 * r.of(i).length / most : null;
        const empty = k === last && !r.of(i).length && d.map === "im2col";
        return [num(k === last && st.counts ? r.of(i).length : values[k][i]), (empty ? "none " : "") + (heat != null ? "heat " : "") + sign, badge.get(k + ":" + i) ?? "", heat];
      }, (p, y, x) => rings.has(`${p},${y},${x}`) ? "too" : "");
    });
    line.set(say(words), !pl.playing());
    pl.update();
    wires(pairs);
    el.dataset.pos = st.pos;
  }
  const body = html("div", { class: `map ${d.map} ${d.layout ?? ""}` }, ...grids.slice(0, -1).map(g => g.el), grids[last].el), wire = links(body);
  const box = g => g.svg.getBoundingClientRect();
  function wires(pairs) {
    if (!pairs.length || bufs.length > 2) { wire([]); return; }      // measuring forces a layout: only for curves that can be told apart
    const first = grids[0], target = grids[last];
    wire(pairs.filter(([b]) => b === 0).flatMap(([b, i, o]) => { const a = first.rect(i), z = target.rect(o); return a && z ? [[a, z]] : []; }), box(first), box(target));
  }
  const opts = options(model, () => model.get("data"), params => model.send({ ask: "params", params }));
  const counts = d.map === "col2im" ? choice("cells of " + out.name + " show", [[true, "how many windows"], [false, "the sum"]], () => st.counts, v => { st.counts = v; paint(); }) : null;
  el.append(figure({ data: d, options: [...opts.els, counts?.el].filter(Boolean), player: pl, sentence: line, pictures: [html("div", { class: "row" }, body, d.bars ? html("div", { class: "beside" }, bars(d.bars), html("p", {}, d.bars.text)) : null)], legend: kind.legend }));
  pl.steps(new Array(n).fill(""));
  paint();
  const again = new ResizeObserver(() => paint());
  again.observe(body);
  const follow = () => { const p = model.get("pos"); if (p !== st.pos && p >= 0 && p < n) { st.pos = p; st.at = null; paint(); } };
  model.on("change:pos", follow);
  return () => { pl.stop(); again.disconnect(); model.off("change:pos", follow); model.off("msg:custom", heard); };
}

// What a position of each family is, and what is said there. describe() says the same, in viz/unfold_figure.py and viz/map_figure.py.
const KINDS = {
  /** Position: a place of the window, a column of col. */
  im2col(d, r, bufs, values) {
    const [N, C, H, W] = bufs[0].shape, { KH, KW, SH, SW, PH, PW, DH, DW, OH, OW } = d.args, L = OH * OW, R = C * KH * KW;
    const split = p => [Math.floor(p / L), Math.floor(p % L / OW), p % OW], of = o => [Math.floor(o / (R * L)), Math.floor(o / L) % R, o % L];
    const x = (b, i) => bracket(bufs[b].name, i, bufs[b].shape), image = n => N > 1 ? ` of image ${n}` : "";
    const ring = o => { const [n, k, l] = of(o), q = k % (KH * KW); return `${n * C + Math.floor(k / (KH * KW))},${Math.floor(l / OW) * SH - PH + Math.floor(q / KW) * DH},${l % OW * SW - PW + q % KW * DW}`; };
    const span = (K, D) => (K - 1) * D + 1;
    return {
      count: N * L, label: "output position", ordered: false,
      text: p => { const [n, oh, ow] = split(p); return `output (${oh},${ow})${image(n)}, column ${p % L} of ${L}`; },
      cells: p => { const [n] = split(p); return Array.from({ length: R }, (_, k) => (n * R + k) * L + p % L); },
      where: o => { const [n, , l] = of(o); return n * L + l; },
      words: (p, cells) => {
        const [n, oh, ow] = split(p), none = cells.filter(o => !r.of(o).length).length;
        return [`Output position (${oh},${ow})${image(n)}: the ${KH}×${KW} window of every channel is `, { v: "r", t: "read" }, " and ", { v: "w", t: "written" }, ` as column ${p % L} of col, `, { code: `${C}·${KH}·${KW} = ${R}` }, ` numbers${none ? `, ${none} of them padding` : ""}.`];
      },
      source: (b, i, to) => to.length ? [{ code: `${x(b, i)} = ${num(values[b][i])}` }, " is ", { v: "r", t: "read" }, ` ${times(to.length)} and `, { v: "w", t: "written" }, ` to ${to.length} ${to.length === 1 ? "cell" : "cells"} of col: one for each window that covers it.`] : [{ code: x(b, i) }, " is in no window: no cell of col holds it."],
      target: (o, from) => {
        const [, k, l] = of(o), q = k % (KH * KW), here = `window (${Math.floor(l / OW)},${l % OW}), place (${Math.floor(q / KW)},${q % KW}) in it`;
        return from.length ? [{ code: x(1, o) }, " holds ", { code: `${x(...from[0])} = ${num(values[from[0][0]][from[0][1]])}` }, `: ${here}.`] : [{ code: `${x(1, o)} = ${num(values[1][o])}` }, ` is padding: 0 is written, no pixel is read; ${here}.`];
      },
      ring: (p, at) => {
        if (at?.[0] === 1) return r.of(at[1]).length ? new Set() : new Set([ring(at[1])]);
        return new Set();
      },
      frames: (k, p) => {
        const [n, oh, ow] = split(p);
        if (k === 0) return Array.from({ length: C }, (_, c) => ({ p: n * C + c, y: oh * SH - PH, x: ow * SW - PW, h: span(KH, DH), w: span(KW, DW), cls: "fr" }));
        return [{ p: n, y: 0, x: p % L, h: R, w: 1, cls: "fw" }];
      },
      legend: [["r", "4", "read"], ["w", "4", "written"], ["t1", "4", "the column that is written now"], [null, "0", "padding: written as 0, nothing is read"]],
    };
  },
  /** Position: a pixel. */
  col2im(d, r, bufs, values) {
    const [N, C, H, W] = bufs[1].shape, name = i => bracket(bufs[1].name, i, bufs[1].shape), col = i => bracket("col", i, bufs[0].shape);
    const sum = from => from.map(([b, i]) => num(values[b][i])).join(" + ");
    const order = n => n < 2 ? "" : d.atomic ? ` Work-items of their own add them, atomically, in no known order.` : ` One work-item adds them, in this order.`;
    return {
      count: product(bufs[1].shape), label: "pixel", ordered: !d.atomic, text: p => `pixel ${p + 1} of ${product(bufs[1].shape)}`, cells: p => [p], where: o => o,
      words: (p, cells) => this_(p, r.of(p)), target: (o, from) => this_(o, from),
      source: (b, i, to) => to.length ? [{ code: `${col(i)} = ${num(values[0][i])}` }, " is ", { v: "r", t: "read" }, " and ", { v: "a", t: "added" }, " to ", { code: name(to[0]) }, "."] : [{ code: col(i) }, " belongs to padding: it is added to no pixel."],
      legend: [[d.atomic ? "a" : "w", "9", d.atomic ? "added to (atomic)" : "written"], ["r", "4", "read"], ...(d.atomic ? [] : [[null, "¹", "order of the sum"]]), ["heat1", "1", "few windows"], ["heat4", "4", "many windows"], [null, "0", "padding: no memory, added to no pixel"]],
    };
    function this_(o, from) {
      const k = from.length;
      if (!k) return [{ code: name(o) }, " is in no window: it becomes ", { code: "0" }, "."];
      return [{ code: name(o) }, k === 1 ? ": one window covers it, so one cell of col is " : `: ${k} windows cover it, so ${k} cells of col are `, { v: d.atomic ? "a" : "r", t: "added" }, ": ", { code: sum(from) + (k > 1 ? " = " + num(values[1][o]) : "") }, ".", order(k)];
    }
  },
  /** Position: a cell of the output. */
  cells(d, r, bufs, values) {
    const last = bufs.length - 1, n = product(bufs[last].shape), x = (b, i) => bracket(bufs[b].name, i, bufs[b].shape), v = (b, i) => num(values[b][i]);
    const made = (o, from) => {
      const head = [{ code: `${x(last, o)} = ${v(last, o)}` }];
      if (!from.length) return [head, " is ", { v: "w", t: "written" }, "; nothing was ", { v: "r", t: "read" }, " for it."];
      if (from.length <= 4) return [head, " is ", { v: "w", t: "written" }, " from ", from.map(([b, i], k) => [k ? (k === from.length - 1 ? " and " : ", ") : "", { code: `${x(b, i)} = ${v(b, i)}` }]), d.does ? `: ${d.does}` : "", "."];
      const each = bufs.slice(0, -1).map((b, k) => [new Set(from.filter(f => f[0] === k).map(f => f[1])).size, b.name]).filter(e => e[0]);
      return [head, " is ", { v: "w", t: "written" }, " from ", each.map((e, k) => [k ? " and " : "", `${e[0]} ${e[0] === 1 ? "cell" : "cells"} of `, { code: e[1] }]), d.does ? `: ${d.does}` : "", "."];
    };
    const order_ = from => { const most = Math.max(0, ...bufs.map((_, k) => from.filter(f => f[0] === k).length)); return most > 1 && most <= 9; };
    return {
      count: n, label: `cell of ${bufs[last].name}`, ordered: true, text: p => `${x(last, p)}, ${p + 1} of ${n}`, cells: p => [p], where: o => o, words: (p, cells) => made(p, r.of(p)), target: made,
      source: (b, i, to) => to.length ? [{ code: `${x(b, i)} = ${v(b, i)}` }, " is ", { v: "r", t: "read" }, ` for ${to.length} ${to.length === 1 ? "cell" : "cells"} of `, { code: bufs[last].name }, "."] : [{ code: x(b, i) }, " is read for no cell of ", { code: bufs[last].name }, "."],
      frames: (k, p, at) => {
        const w = d.window;
        if (!w || k !== w.buffer || (at && at[0] !== last)) return [];
        const o = at ? at[1] : p, [OH, OW] = bufs[last].shape.slice(-2), plane = Math.floor(o / (OH * OW)), oh = Math.floor(o / OW) % OH, ow = o % OW, planes = w.same ? [plane] : Array.from({ length: w.C }, (_, c) => Math.floor(plane / w.CO) * w.C + c);
        return planes.map(q => ({ p: q, y: oh * w.SH - w.PH, x: ow * w.SW - w.PW, h: (w.KH - 1) * w.DH + 1, w: (w.KW - 1) * w.DW + 1, cls: "fr" }));
      },
      legend: [["r", "4", "read"], ["w", "4", "written"], ...(Array.from({ length: n }, (_, o) => order_(r.of(o))).some(Boolean) ? [[null, "¹", "order of reading"]] : []), ...(bufs.some(b => b.pad) ? [[null, "0", "padding: not in memory, nothing is read"]] : [])],
    };
  },
};

export default { render: mount(draw) };
