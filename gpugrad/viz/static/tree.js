// The tree of a reduction in local memory: what the array holds after each phase, and which two cells made each one.
import { html, svg, num } from "./core.js";

const BOX = 24;
const TWIG = 26;

/** What one group stores to one local array, phase after phase: {phase, cells: index to step}. */
function levelsOf(stores) {
  const levels = [];
  for (const s of stores) {
    if (s.phase !== levels.at(-1)?.phase) levels.push({ phase: s.phase, cells: new Map() });
    levels.at(-1).cells.set(s.i[0], s);
  }
  return levels;
}

/** stores: those of one group to one local array, with the loads behind them. Levels stretch over the whole width. */
export function tree(name, stores) {
  const levels = levelsOf(stores);
  if (levels.length < 2) return null;
  const counts = levels.map(level => Math.max(...level.cells.keys()) + 1);
  const root = svg("svg", { class: "treepic", role: "img", "aria-label": `what ${name} holds after each phase` });
  const note = `after each phase; every cell is made of the two above it (${counts[0]} cells first)`;
  const el = html("div", { class: "treebox" }, html("h4", {}, name + " ", html("small", {}, note)), root);
  let boxes = [];
  let drawn = 0;
  let last = null;

  function build(width) {
    // Where a level's cells are too narrow for their numbers, they stay empty: pointing at one says it.
    const longest = level => Math.max(...[...level.cells.values()].map(s => num(s.v[0]).length));
    const fits = levels.map((level, k) => longest(level) * (width / counts[k] < 20 ? 6 : 8) < width / counts[k]);
    const place = (k, i) => [1 + (i * width) / counts[k], width / counts[k]];
    const twig = (k, to, from) => {
      const [x, w] = place(k, to);
      const [fx, fw] = place(k - 1, from);
      const [bottom, y] = [1 + k * (BOX + TWIG) - TWIG, 1 + k * (BOX + TWIG)];
      const [a, b, m] = [fx + fw / 2, x + w / 2, (bottom + y) / 2];
      root.append(svg("path", { class: "twig", d: `M${a} ${bottom}C${a} ${m} ${b} ${m} ${b} ${y}` }));
    };
    const box = (k, i, s) => {
      const [x, w] = place(k, i);
      const y = 1 + k * (BOX + TWIG);
      const t = num(s.v[0]);
      const middle = { x: x + w / 2, y: y + BOX / 2, class: w < 20 ? "tiny" : "" };
      const rect = svg("rect", { x, y, width: w, height: BOX });
      const title = svg("title", {}, `${name}[${i}] = ${t}`);
      return root.appendChild(svg("g", { class: "c" }, rect, svg("text", middle, fits[k] ? t : ""), title));
    };
    const height = levels.length * (BOX + TWIG) - TWIG + 2;
    root.replaceChildren();
    root.setAttribute("viewBox", `0 0 ${width + 2} ${height}`);
    root.setAttribute("width", width + 2);
    boxes = levels.map((level, k) => {
      for (const [i, s] of k ? level.cells : []) for (const r of s.reads) if (r.b === s.b) twig(k, i, r.i[0]);
      return new Map([...level.cells].map(([i, s]) => [i, box(k, i, s)]));
    });
  }
  const sign = (k, i, s) => {
    const { phase } = levels[k];
    if (s.k === "store" && s.phase === phase && s.i[0] === i) return "w";
    if (s.k === "load" && s.phase === phase + 1 && s.i[0] === i) return "r";
    return phase < s.phase ? "" : "later";
  };
  const show = s => {
    last = s;
    boxes.forEach((made, k) => made.forEach((g, i) => g.setAttribute("class", "c " + sign(k, i, s))));
  };
  const within = width => {
    const wanted = Math.min(832, width - 2);
    if (wanted === drawn) return;
    drawn = wanted;
    build(wanted);
    if (last) show(last);
  };
  within(834);
  return { el, show, within };
}
