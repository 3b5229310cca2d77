// Memory: what 32 neighbouring work-items ask for at once, as segments of global memory or as banks of local memory.
import { figure, html, mount, quiet, say, unpack } from "./core.js";
import { grid } from "./grid.js";
import { player, sentence } from "./controls.js";
import { source } from "./source.js";

const VERB = { load: "read", store: "write", atomic: "update" }, SIGN = { load: "r", store: "w", atomic: "a" };

function draw(model, el) {
  const d = model.get("data"), st = { place: Math.min(model.get("place"), d.places.length - 1), request: model.get("request") }, line = sentence();
  const src = source(d.source, d.keep, "source"), data = d.places.map(p => ({ request: unpack(p.request), lane: unpack(p.lane), offset: unpack(p.offset) }));
  const box = html("div", {}), p = () => d.places[st.place];
  const touched = () => { const out = [], x = data[st.place]; x.request.forEach((r, k) => { if (r === st.request) out.push([x.lane[k], x.offset[k]]); }); return out; };
  const set = r => { st.request = r; model.set("request", r); model.save_changes(); paint(); };
  const pl = player({ label: "request", get: () => st.request, set, text: r => `request ${r + 1} of ${p().requests}${p().shown < p().requests ? ` (${p().shown} shown)` : ""}` });
  const list = d.places.map((q, k) => quiet(html("button", { type: "button", class: "place", onclick: () => { pl.stop(); choose(k); } },
    html("span", { class: "v " + SIGN[q.kind] }, VERB[q.kind] + "s"), " ", html("code", {}, q.text), html("span", { class: "score" }, q.space === "local" ? `${q.conflicts.toFixed(1)} words in the busiest bank` : `${q.segments.toFixed(1)} segments, ${Math.round(100 * q.useful)} % used`), html("small", {}, `line ${q.line}, ${q.space} ${q.buffer}`))));
  let picture = null;
  function choose(k) {
    st.place = k; st.request = 0;
    model.set("place", k); model.set("request", 0); model.save_changes();
    build(); paint();
  }
  function build() {
    const x = data[st.place], local = p().space === "local", top = x.offset.reduce((a, b) => Math.max(a, b), 0), rows = Math.floor((top + p().size - 1) / 128) + 1;
    picture = grid({ name: p().buffer, note: local ? "columns are the 32 banks" : "each row is a segment of 128 bytes; columns are its words of 4", shape: [rows, 32], cell: 22, wide: 22, dense: true, room: [790, 330], rows: y => String(y * 128) });
    box.replaceChildren(picture.el);
    pl.steps(new Array(p().shown).fill(""));
    list.forEach((b, k) => b.setAttribute("aria-pressed", String(k === st.place)));
  }
  function words(list) {
    const q = p(), [a, b] = q.first[st.request], lanes = new Set(list.map(t => t[0])).size, cells = new Set(list.map(t => t[1]));
    const head = [lanes === 1 ? `Work-item ${a} ` : `Work-items ${a} to ${b} `, { v: SIGN[q.kind], t: VERB[q.kind] + (lanes === 1 ? "s" : "") }, " ", { code: q.text }, `, ${cells.size} element${cells.size === 1 ? "" : "s"} of ${q.buffer}: `];
    if (q.space === "local") {
      const asked = new Map();
      new Set([...cells].map(o => Math.floor(o / 4))).forEach(w => asked.set(w % 32, (asked.get(w % 32) ?? 0) + 1));
      const most = Math.max(...asked.values());
      return say(head, most === 1 ? "no bank is asked for more than one word, so all come at once." : `the busiest bank is asked for ${most} words, so it takes ${most} turns.`);
    }
    const segments = new Set([...cells].map(o => Math.floor(o / 128))).size, wanted = cells.size * q.size;
    return say(head, `${segments} segment${segments === 1 ? " of 128 bytes is" : "s of 128 bytes are"} moved for ${wanted} bytes, ${percent(wanted, segments * 128)} % of them.`);
  }
  const percent = (a, b) => { const v = 100 * a / b, f = Math.floor(v); return v - f === 0.5 ? f + f % 2 : Math.round(v); };      // as Python rounds
  function paint() {
    const list_ = touched(), sign = SIGN[p().kind], who = new Map(), wide = Math.max(1, p().size / 4), before = new Set();
    const x = data[st.place];
    x.request.forEach((r, k) => { if (r < st.request) before.add(Math.floor(x.offset[k] / 4)); });
    for (const [lane, offset] of list_) for (let k = 0; k < wide; k++) { const w = Math.floor(offset / 4) + k; who.set(w, [...(who.get(w) ?? []), lane]); }
    const cells = [...who.keys()], bank = new Map();
    for (const w of cells) bank.set(w % 32, (bank.get(w % 32) ?? 0) + 1);
    const busiest = p().space === "local" ? Math.max(...bank.values()) : 0;
    picture.touch(cells.map(w => [w, sign]));
    if (cells.length) { picture.show(Math.max(...cells)); picture.show(Math.min(...cells)); }
    const rows = [...new Set(cells.map(w => Math.floor(w / 32)))];
    picture.frames(p().space === "local" ? [...bank].filter(([, n]) => n > 1 && n === busiest).slice(0, 32).map(([b]) => ({ p: 0, y: Math.min(...rows), x: b, h: Math.max(...rows) - Math.min(...rows) + 1, w: 1, cls: "bad" }))
      : rows.map(y => ({ p: 0, y, x: 0, h: 1, w: 32, cls: "fi" })));
    picture.paint(w => who.has(w) ? [who.get(w).length > 1 ? "×" + new Set(who.get(w)).size : String(who.get(w)[0]), sign] : ["", before.has(w) ? (sign === "r" ? "r0" : "w0") : ""]);
    src.show([{ start: p().start, end: p().end, cls: sign }]);
    line.set(words(list_), !pl.playing());
    pl.update();
    el.dataset.request = st.request;
  }
  el.append(figure({ data: d, player: pl, sentence: line, pictures: [html("div", { class: "memory" }, src.el, html("div", { class: "places", role: "group", "aria-label": "places of the source" }, html("h4", {}, "places ", html("small", {}, "averages; choose one")), ...list)), box],
    legend: [["r", "7", "work-item of the 32 that reads the word"], ["w", "7", "that writes it"], [null, "×4", "so many touch the same word"], ["t0", "7", "asked for earlier"], ["fi", "1", "segment that is moved"], ["x", "‖", "bank that is asked for several words"]] }));
  build(); paint();
  const follow = () => { const k = model.get("place"), r = model.get("request"); if (k === st.place && r === st.request) return; const other = k !== st.place; st.place = Math.min(k, d.places.length - 1); st.request = Math.min(r, p().shown - 1); if (other) build(); paint(); };
  model.on("change:place", follow); model.on("change:request", follow);
  return () => { pl.stop(); model.off("change:place", follow); model.off("change:request", follow); };
}
export default { render: mount(draw) };
