// What a step marks: pieces of the source, cells of the buffers, tiles; and the legend of these signs.
import { html, unpack } from "./core.js";
import { SIGN } from "./step_words.js";

export function legendOf(d, r) {
  const local = d.buffers.some(b => b.space === "local");
  const atomic = d.sites.some(s => s.kind === "atomic");
  const faults = Object.values(d.chunks).some(c => unpack(c.fault).some(v => v));
  const when = (so, ...entry) => (so ? [entry] : []);
  return [
    ["r", "4", "read now"],
    ["w", "4", "written now"],
    ["t0", "4", "read earlier" + (r.barriers ? " in this phase" : "")],
    ["t1", "4", "written earlier"],
    ...when(atomic, "a", "4", "updated atomically"),
    ...when(r.barriers, "b", "‖", "barrier"),
    ...when(faults, "x", "✕", "outside the buffer: skipped"),
    ...when(local, null, html("i", {}, "4"), "written by others, in no known order"),
    [null, "·", "not written, as far as this work-item knows"],
    [null, "●", "the chosen work-item, and where it will write"],
    ...when(local, "by", "1", "work-item that wrote it"),
    ["fi", "1", local ? "its group, and the group’s tiles" : "its group"],
    ...when(
      r.does.some(v => v < 2),
      null,
      "–",
      "work-item that writes no result",
    ),
  ];
}

/** Which pieces of the source a step marks: what it does, and the loads behind it. */
export function marksOf(s) {
  if (!s) return [];
  const { start, end, name, text } = s.site;
  const behind = s.k === "load" || s.k === "barrier" ? [] : s.reads;
  const places = new Map(behind.map(t => [t.sid, t.site])); // a loop reads at one place thousands of times
  const onlyName = s.k === "assign" && s.reads.length && text.startsWith(name);
  return [
    ...[...places.values()].map(p => ({ start: p.start, end: p.end, cls: "r" })),
    { start, end: onlyName ? start + name.length : end, cls: s.wrong ? "x" : SIGN[s.k] },
  ];
}

/** The box around the tile of a global buffer that local memory holds, or that this group writes. */
export function tileFrame(g, cells) {
  if (!cells.length) return [];
  const at = cells.map(i => g.at(i));
  const p = at[0][0];
  const ys = at.filter(c => c[0] === p).map(c => c[1]);
  const xs = at.filter(c => c[0] === p).map(c => c[2]);
  const [y, x] = [Math.min(...ys), Math.min(...xs)];
  return [{ p, y, x, h: Math.max(...ys) - y + 1, w: Math.max(...xs) - x + 1, cls: "fi" }];
}

/**
 * For each buffer, the cells that wear a sign at step s of its work-item: now (live), and earlier in this phase (trail);
 * and which of `others`, drawn at the same step, are doing the same.
 */
export function signsAt(r, bufs, s, others) {
  const live = bufs.map(() => new Map());
  const trail = bufs.map(() => new Map());
  const doing = new Set();
  if (!s) return { live, trail, doing };
  const mark = (maps, t, sign) => {
    if (t.b >= 0 && !t.wrong) t.i.forEach(i => maps[t.b].set(i, sign));
  };
  for (const t of r.steps(s.w).slice(0, s.n)) if (t.phase === s.phase) mark(trail, t, t.k === "load" ? "r0" : "w0");
  for (const w of others) {
    const same = w === s.w ? null : r.steps(w).find(t => t.sid === s.sid && t.nth === s.nth);
    if (!same) continue;
    doing.add(w);
    mark(trail, same, "too");
  }
  if (s.k !== "load") for (const t of s.reads) mark(live, t, "r");
  mark(live, s, SIGN[s.k]);
  return { live, trail, doing };
}
