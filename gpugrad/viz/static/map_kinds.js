// What a position of each family of maps is, and what is said there. describe() says the same, in viz/unfold_figure.py
// and viz/map_figure.py. Each kind gives: count and label of its positions, text(position), cells(position) of the
// output, where(cell) the position is, words(position, cells), target(cell of the output, its inputs),
// source(buffer, cell, what it goes into), frames(grid, position, pointed at), ring(...) of padding, legend.
import { bracket, num, product } from "./core.js";

const READ = { v: "r", t: "read" };
const WRITTEN = { v: "w", t: "written" };
const times = n => (n === 1 ? "once" : n === 2 ? "twice" : `${n} times`);
const cells = n => `${n} ${n === 1 ? "cell" : "cells"}`;
const padded = bufs => bufs.some(b => b.pad?.some(n => n > 0));
const when = (so, ...entry) => (so ? [entry] : []);
const reach = (K, D) => (K - 1) * D + 1;

/** How often an input is used: for those who hear the figure. */
export const used = n => `used ${times(n)}`;

/** Position: a place of the window, a column of col. */
function im2col(d, r, bufs, values) {
  const [N, C] = bufs[0].shape;
  const { KH, KW, SH, SW, PH, PW, DH, DW, OH, OW } = d.args;
  const L = OH * OW;
  const R = C * KH * KW;
  const split = p => [Math.floor(p / L), Math.floor((p % L) / OW), p % OW];
  const of = o => [Math.floor(o / (R * L)), Math.floor(o / L) % R, o % L];
  const name = (b, i) => bracket(bufs[b].name, i, bufs[b].shape);
  const value = (b, i) => `${name(b, i)} = ${num(values[b][i])}`;
  const image = n => (N > 1 ? ` of image ${n}` : "");
  const ring = o => {
    const [n, k, l] = of(o);
    const q = k % (KH * KW);
    const y = Math.floor(l / OW) * SH - PH + Math.floor(q / KW) * DH;
    const x = (l % OW) * SW - PW + (q % KW) * DW;
    return `${n * C + Math.floor(k / (KH * KW))},${y},${x}`;
  };
  return {
    count: N * L,
    label: "output position",
    ordered: false,
    text(p) {
      const [n, oh, ow] = split(p);
      return `output (${oh},${ow})${image(n)}, column ${p % L} of ${L}`;
    },
    cells: p => Array.from({ length: R }, (_, k) => (split(p)[0] * R + k) * L + (p % L)),
    where: o => of(o)[0] * L + of(o)[2],
    words(p, column) {
      const [n, oh, ow] = split(p);
      const none = column.filter(o => !r.of(o).length).length;
      const what = `Output position (${oh},${ow})${image(n)}: the ${KH}×${KW} window of every channel is `;
      const many = { code: `${C}·${KH}·${KW} = ${R}` };
      const padding = none ? `, ${none} of them padding` : "";
      return [what, READ, " and ", WRITTEN, ` as column ${p % L} of col, `, many, ` numbers${padding}.`];
    },
    source(b, i, to) {
      if (!to.length) return [{ code: name(b, i) }, " is in no window: no cell of col holds it."];
      const covers = ` to ${cells(to.length)} of col: one for each window that covers it.`;
      return [{ code: value(b, i) }, " is ", READ, ` ${times(to.length)} and `, WRITTEN, covers];
    },
    target(o, from) {
      const [, k, l] = of(o);
      const q = k % (KH * KW);
      const here = `window (${Math.floor(l / OW)},${l % OW}), place (${Math.floor(q / KW)},${q % KW}) in it`;
      if (from.length) return [{ code: name(1, o) }, " holds ", { code: value(...from[0]) }, `: ${here}.`];
      return [{ code: value(1, o) }, ` is padding: 0 is written, no pixel is read; ${here}.`];
    },
    ring: (p, at) => new Set(at?.[0] === 1 && !r.of(at[1]).length ? [ring(at[1])] : []),
    frames(k, p) {
      const [n, oh, ow] = split(p);
      if (k === 1) return [{ p: n, y: 0, x: p % L, h: R, w: 1, cls: "fw" }];
      const window = { y: oh * SH - PH, x: ow * SW - PW, h: reach(KH, DH), w: reach(KW, DW), cls: "fr" };
      return Array.from({ length: C }, (_, c) => ({ p: n * C + c, ...window }));
    },
    legend: [
      ["r", "4", "read"],
      ["w", "4", "written"],
      ["t1", "4", "the column that is written now"],
      ...when(padded(bufs), null, "0", "padding: written as 0, nothing is read"),
    ],
  };
}

/** Position: a pixel. */
function col2im(d, r, bufs, values) {
  const name = i => bracket(bufs[1].name, i, bufs[1].shape);
  const col = i => bracket("col", i, bufs[0].shape);
  const added = v => ({ v, t: "added" });
  const count = product(bufs[1].shape);
  const order = d.atomic
    ? " Work-items of their own add them, atomically, in no known order."
    : " One work-item adds them, in this order.";
  const pixel = o => {
    const from = r.of(o);
    const n = from.length;
    if (!n) return [{ code: name(o) }, " is in no window: it becomes ", { code: "0" }, "."];
    const terms = from.map(([b, i]) => num(values[b][i])).join(" + ");
    const many = `: ${n} windows cover it, so ${n} cells of col are `;
    const head = [{ code: name(o) }, n === 1 ? ": one window covers it, so one cell of col is " : many];
    const sum = terms + (n > 1 ? " = " + num(values[1][o]) : "");
    return [head, added(d.atomic ? "a" : "r"), ": ", { code: sum }, ".", n > 1 ? order : ""];
  };
  return {
    count,
    label: "pixel",
    ordered: !d.atomic,
    text: p => `pixel ${p + 1} of ${count}`,
    cells: p => [p],
    where: o => o,
    words: p => pixel(p),
    target: o => pixel(o),
    source(b, i, to) {
      if (!to.length) return [{ code: col(i) }, " belongs to padding: it is added to no pixel."];
      const value = { code: `${col(i)} = ${num(values[0][i])}` };
      return [value, " is ", READ, " and ", added("a"), " to ", { code: name(to[0]) }, "."];
    },
    legend: [
      [d.atomic ? "a" : "w", "9", d.atomic ? "added to (atomic)" : "written"],
      ["r", "4", "read"],
      ...when(!d.atomic, null, "¹", "order of the sum"),
      ["heat1", "1", "few windows"],
      ["heat4", "4", "many windows"],
      ...when(padded(bufs), null, "0", "padding: no memory, added to no pixel"),
    ],
  };
}

/** Position: a cell of the output. */
function cellByCell(d, r, bufs, values) {
  const last = bufs.length - 1;
  const out = bufs[last];
  const n = product(out.shape);
  const name = (b, i) => bracket(bufs[b].name, i, bufs[b].shape);
  const value = (b, i) => ({ code: `${name(b, i)} = ${num(values[b][i])}` });
  const made = (o, from) => {
    const head = [value(last, o), " is ", WRITTEN];
    const does = d.does ? `: ${d.does}.` : ".";
    if (!from.length) return [head, "; nothing was ", READ, " for it."];
    if (from.length <= 4) {
      const between = k => (k ? (k === from.length - 1 ? " and " : ", ") : "");
      return [head, " from ", from.map(([b, i], k) => [between(k), value(b, i)]), does];
    }
    const different = k => new Set(from.filter(f => f[0] === k).map(f => f[1])).size;
    const each = bufs.slice(0, -1).map((b, k) => [different(k), b.name]);
    const parts = each.filter(e => e[0]).map((e, k) => [k ? " and " : "", `${cells(e[0])} of `, { code: e[1] }]);
    return [head, " from ", parts, does];
  };
  const numbered = o => {
    const most = Math.max(0, ...bufs.map((_, k) => r.of(o).filter(f => f[0] === k).length));
    return most > 1 && most <= 9;
  };
  const anyNumbered = Array.from({ length: n }, (_, o) => o).some(numbered);
  return {
    count: n,
    label: `cell of ${out.name}`,
    ordered: true,
    text: p => `${name(last, p)}, ${p + 1} of ${n}`,
    cells: p => [p],
    where: o => o,
    words: p => made(p, r.of(p)),
    target: made,
    source(b, i, to) {
      if (!to.length) return [{ code: name(b, i) }, " is read for no cell of ", { code: out.name }, "."];
      return [value(b, i), " is ", READ, ` for ${cells(to.length)} of `, { code: out.name }, "."];
    },
    frames(k, p, at) {
      const w = d.window;
      if (!w || k !== w.buffer || (at && at[0] !== last)) return [];
      const o = at ? at[1] : p;
      const [OH, OW] = out.shape.slice(-2);
      const plane = Math.floor(o / (OH * OW));
      const corner = { y: (Math.floor(o / OW) % OH) * w.SH - w.PH, x: (o % OW) * w.SW - w.PW };
      const seen = Array.from({ length: w.C ?? 0 }, (_, c) => Math.floor(plane / w.CO) * w.C + c);
      const size = { h: reach(w.KH, w.DH), w: reach(w.KW, w.DW), cls: "fr" };
      return (w.same ? [plane] : seen).map(q => ({ p: q, ...corner, ...size }));
    },
    legend: [
      ["r", "4", "read"],
      ["w", "4", "written"],
      ...when(anyNumbered, null, "¹", "order of reading"),
      ...when(padded(bufs), null, "0", "padding: not in memory, nothing is read"),
    ],
  };
}

export const KINDS = { im2col, col2im, cells: cellByCell };
