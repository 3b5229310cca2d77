// The grids of the stepper: the work-items, and the buffers as the chosen one can know them.
import { fit, num, product } from "./core.js";
import { grid, planeName } from "./grid.js";
import { known, seen, writes } from "./recording.js";
import { signsAt, tileFrame } from "./step_marks.js";
import { outer } from "./step_words.js";

/** The work-items, as they lie: dimension 0 to the right, 1 down, 2 as planes. */
function workItems(r, choose) {
  const rank = r.gsize.length;
  const few = r.N <= 16; // are seen whole, whatever groups they are in, and leave the source its room
  const cell = rank > 1 ? (r.N > 144 ? 16 : 20) : few && r.N > 12 ? 18 : 24;
  const result = w => (r.does[w] === 2 ? "" : r.does[w] ? ", writes no result" : ", touches no memory");
  return grid({
    name: "Work-items",
    note: r.gsize.join("×"),
    shape: rank === 1 ? [r.N] : [...r.gsize].reverse(),
    block: rank === 1 ? [1, r.lsize[0]] : [r.lsize[1], r.lsize[0]],
    cell,
    wide: cell,
    plane: rank === 3 ? p => `dimension 2: ${p}` : undefined,
    room: [few ? 390 : 300, 300],
    onpick: choose,
    speak: w => `${r.who(w)}, ${r.gname(r.group(w))}${result(w)}`,
  });
}

/** Two matrices and their product stand as one multiplies them: their numbers among the buffers, or null. */
function asProduct(bufs) {
  const global = bufs.map((b, n) => n).filter(n => bufs[n].space === "global");
  const flat = n => bufs[n].shape.length >= 2 && product(bufs[n].shape.slice(0, -2)) === 1;
  if (global.length !== 3 || !global.every(flat)) return null;
  const [a, b, c] = global.map(n => bufs[n].shape.slice(-2));
  const roles = global.map(n => bufs[n].role === "in").join();
  return roles === "true,true,false" && a[1] === b[0] && a[0] === c[0] && b[1] === c[1] ? global : null;
}

/** A grid for each buffer, all with cells of one width. */
function bufferGrids(d, r, values, matmul) {
  const bufs = d.buffers;
  const all = function* () {
    for (const v of values) if (v) yield* v.subarray(0, 4000);
    for (const g of Object.keys(d.chunks)) for (const l of r.stores(+g)) for (const t of l.slice(0, 2000)) yield* t.v;
  };
  const wide = fit(all());
  const tiled = matmul && bufs.some(b => b.space === "local");
  return bufs.map(b => {
    const small = b.space === "local" && product(b.shape) > 64;
    const g = grid({
      name: b.name,
      note: b.note,
      shape: b.shape,
      wide: small ? Math.max(22, wide - 6) : wide,
      cell: small ? 22 : 28,
      dense: small,
      plane: b.shape.length > 2 ? planeName(b.shape, b.axes) : undefined,
      room: b.space === "local" ? [400, 222] : tiled ? [222, 240] : [b.shape.length > 1 ? 470 : 800, 400],
    });
    g.el.classList.add("buf", b.space, b.role || "any");
    return g;
  });
}

/**
 * All grids, for the place `at` (w: the work-item, all: with its group). paint(s) shows step s, and says how many others
 * are drawn at it; origin(s) is the step that wrote what s reads, where that is known.
 */
export function stepGrids(d, r, values, at, choose) {
  const bufs = d.buffers;
  const matmul = asProduct(bufs);
  const shown = bufferGrids(d, r, values, matmul);
  const items = workItems(r, choose);
  const local = bufs.some(b => b.space === "local");
  const knows = (n, s) => known(d, r, values, n, s, at.all);
  const origin = s => (s?.k === "load" && s.b >= 0 && !s.wrong ? knows(s.b, s).by(s.i[0]) : null);

  /** Where the chosen work-item writes in global memory, at any step. */
  function aimsOf() {
    const aims = bufs.map(() => new Set());
    for (const t of r.steps(at.w)) if (writes(t) && bufs[t.b].space === "global") t.i.forEach(i => aims[t.b].add(i));
    return aims;
  }

  function paintBuffer(n, s, { live, trail }, aims, facts, tiles) {
    const [b, g] = [bufs[n], shown[n]];
    const look = live.size ? [...live.keys()] : s?.n === 0 ? [...aims] : [];
    g.touch([...live]);
    if (look.length) g.show(look[0], look);
    g.flag(s?.b === n && s.wrong ? `✕ ${b.name}[${outer(s)}] is outside` : null);
    const held = b.role === "out" ? r.stores(r.group(at.w))[n] : tiles.filter(t => t.b === n);
    const framed = local && b.space === "global" && b.shape.length > 1;
    const cells = framed ? held.flatMap(t => t.i) : [];
    g.frames(tileFrame(g, cells));
    g.paint(i => {
      const v = facts ? (facts.holds.at(i) ?? facts.seen.get(i) ?? null) : null;
      const how = v == null ? "none " : facts.holds.ghost(i) ? "ghost " : "";
      return [v == null && aims.has(i) ? "●" : num(v), how + (live.get(i) ?? trail.get(i) ?? "")];
    });
  }

  function paintBuffers(s, { live, trail }) {
    const aims = aimsOf();
    const facts = bufs.map((_, n) => (s ? { holds: knows(n, s), seen: seen(r, values, n, s) } : null));
    const tiles = facts.flatMap(f => (f ? [...f.holds.from.values()] : []));
    bufs.forEach((_, n) => paintBuffer(n, s, { live: live[n], trail: trail[n] }, aims[n], facts[n], tiles));
  }

  function paintWorkItems(s, doing) {
    const g = r.group(at.w);
    const writer = origin(s)?.w;
    items.touch([[at.w, "me"]]);
    items.show(at.w);
    const corner = r.place(r.members(g)[0] ?? at.w).map((v, k) => Math.floor(v / r.lsize[k]) * r.lsize[k]);
    const h = r.gsize.length === 1 ? 1 : r.lsize[1];
    items.frames([{ p: corner[2] ?? 0, y: corner[1] ?? 0, x: corner[0], h, w: r.lsize[0], cls: "fi" }]);
    items.paint(w => {
      const result = r.does[w] === 2;
      const other = (w === writer ? "by " : "") + (r.has(r.group(w)) ? "" : "away ") + (r.group(w) === g ? "mate" : "");
      const glyph = w === at.w ? "●" : doing.has(w) ? "•" : result ? "" : "–";
      return [glyph, (w === at.w ? "me" : other) + (result ? "" : " none")];
    });
  }

  function paint(s) {
    const signs = signsAt(r, bufs, s, at.all ? r.members(r.group(at.w)) : []);
    paintBuffers(s, signs);
    paintWorkItems(s, signs.doing);
    return signs.doing.size;
  }
  return { shown, items, matmul, origin, paint };
}
