// The tree of a reduction in local memory: what the array holds after each phase, and which two cells made each one.
import { html, svg, num } from "./core.js";

/** stores: those of one group to one local array, with the loads behind them. Levels stretch over the whole width. */
export function tree(name, stores) {
  const levels = [];
  for (const s of stores) {
    if (!levels.length || levels.at(-1).phase !== s.phase) levels.push({ phase: s.phase, cells: new Map() });
    levels.at(-1).cells.set(s.i[0], s);
  }
  if (levels.length < 2) return null;
  const n = Math.max(...levels[0].cells.keys()) + 1, W = 832, H = 24, GAP = 26, root = svg("svg", { class: "treepic", viewBox: `0 0 ${W + 2} ${levels.length * (H + GAP) - GAP + 2}`, role: "img", "aria-label": `what ${name} holds after each phase` });
  const place = (k, i) => { const wide = W / (Math.max(...levels[k].cells.keys()) + 1); return [1 + i * wide, wide]; };
  const boxes = levels.map((level, k) => {
    const y = 1 + k * (H + GAP), made = new Map();
    for (const [i, s] of level.cells) {
      const [x, wide] = place(k, i), t = num(s.v[0]);
      if (k) for (const from of s.reads.filter(r => r.b === s.b)) {
        const [fx, fw] = place(k - 1, from.i[0]);
        root.append(svg("path", { class: "twig", d: `M${fx + fw / 2} ${y - GAP}C${fx + fw / 2} ${y - GAP / 2} ${x + wide / 2} ${y - GAP / 2} ${x + wide / 2} ${y}` }));
      }
      const g = svg("g", { class: "c" }, svg("rect", { x, y, width: wide, height: H }), svg("text", { x: x + wide / 2, y: y + H / 2, class: wide < 20 ? "tiny" : "" }, t.length * (wide < 20 ? 5.5 : 8) <= wide ? t : ""), svg("title", {}, `${name}[${i}] = ${t}`));
      root.append(g);
      made.set(i, g);
    }
    return made;
  });
  return {
    el: html("div", { class: "treebox" }, html("h4", {}, name + " ", html("small", {}, `after each phase; every cell is made of the two above it (${n} cells first)`)), html("div", { class: "scroll" }, root)),
    show(s) {
      boxes.forEach((made, k) => made.forEach((g, i) => {
        const now = s.phase === levels[k].phase && s.i?.[0] === i && s.k === "store", done = levels[k].phase < s.phase;
        const read = s.k === "load" && s.phase === levels[k].phase + 1 && s.i[0] === i;
        g.setAttribute("class", "c " + (now ? "w" : read ? "r" : done ? "" : "later"));
      }));
    },
  };
}
