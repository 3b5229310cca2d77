// How the stepper's panes stand: source, work-items and private variables, buffers by the memory they are in.
import { html, num, SMALL } from "./core.js";

/** The private variables that are watched, with their values; what has just been set is framed. */
export function variables(d) {
  const names = [...new Set(d.sites.filter(s => s.kind === "assign").map(s => s.name))];
  const el = html("dl", { class: "priv" + (names.length > 8 ? " many" : "") });
  const variable = (n, s) => [
    html("dt", { title: n }, n),
    html("dd", { class: s?.fresh.includes(n) ? "new" : "" }, num(s?.env[n] ?? null)),
  ];
  return { el, any: names.length > 0, show: s => el.replaceChildren(...names.flatMap(n => variable(n, s))) };
}

const memory = (name, note, ...kids) =>
  html("div", { class: "mem" }, html("div", { class: "space" }, html("b", {}, name), note), ...kids);

/**
 * The panes. arrange() puts source and pictures side by side where both fit, else the pictures below; it says whether the
 * room has changed. name(whose, group) heads private and local memory.
 */
export function layout({ bufs, grids, src, vars, branches }) {
  const { shown, items, matmul } = grids;
  const whose = html("span");
  const group = html("span");
  const of = space => shown.filter((g, n) => bufs[n].space === space).map(g => g.el);
  matmul?.forEach((n, k) => (shown[n].el.style.gridArea = "ABC"[k]));
  items.el.classList.add("wis");
  const local = of("local");
  const far = html("div", { class: matmul ? "matmul" : "far" }, ...of("global"), ...of("constant"));
  const own = local.length ? memory("local memory", group, html("div", { class: "row" }, ...local)) : null;
  const lay = html("div", { class: "lay" }, far, own);
  const near = html("div", { class: "near" }, items.el, vars.any ? memory("private", whose, vars.el) : null);
  const el = html("div", { class: "step" }, src.el, lay, near);

  let width = 0;
  function arrange() {
    const room = el.clientWidth;
    if (!room || room === width) return false;
    width = room;
    const most = list => Math.max(0, ...list.map(n => shown[n].width())) * (room < SMALL ? 0.88 : 1);
    const notLocal = bufs.map((b, n) => n).filter(n => bufs[n].space !== "local");
    shown.forEach((g, n) => g.within(room - (bufs[n].space === "local" ? 16 : 0)));
    items.within(room);
    branches?.within(room);
    const [left, right] = matmul ? [most([matmul[0]]), most(matmul.slice(1))] : [most(notLocal), 0];
    const wanted = Math.max(items.width(), left) + (matmul ? right + 16 : 0);
    const beside = src.longest * 7.83 + 62 + wanted + 20 <= room;
    el.className = "step " + (beside ? "side" : room > 700 ? "over" : "stack");
    far.classList.toggle("narrow", !!matmul && left + right + 16 > room);
    (beside ? (matmul ? far : lay) : near).prepend(items.el);
    if (own) (beside ? near : lay).append(own);
    return true;
  }
  const name = (w, g) => {
    whose.textContent = ` of ${w}`;
    group.textContent = ` of ${g}`;
  };
  return { el, arrange, name };
}
