// Memory: what 32 neighbouring work-items ask for at once, as segments of global memory or as banks of local memory.
import { figure, html, mount, quiet, say, unpack } from "./core.js";
import { grid } from "./grid.js";
import { player, sentence } from "./controls.js";
import { source } from "./source.js";

const VERB = { load: "read", store: "write", atomic: "update" };
const SIGN = { load: "r", store: "w", atomic: "a" };
const BANKS = 32;
const SEGMENT = 128;

/** How many different words each bank is asked for. words: numbers of 4 bytes each. */
function byBank(words) {
  const asked = new Map();
  for (const w of words) asked.set(w % BANKS, (asked.get(w % BANKS) ?? 0) + 1);
  return asked;
}

/** Half a percent is rounded to the even one, as Python does it. */
const percent = (a, b) => {
  const v = (100 * a) / b;
  const f = Math.floor(v);
  return v - f === 0.5 ? f + (f % 2) : Math.round(v);
};

/** The sentence about one request at place q: who touches which bytes. touched: [lane, byte]. */
function inWords(q, request, touched) {
  const [first, last] = q.first[request];
  const one = new Set(touched.map(t => t[0])).size === 1;
  const bytes = [...new Set(touched.map(t => t[1]))];
  const who = one ? `Work-item ${first} ` : `Work-items ${first} to ${last} `;
  const verb = { v: SIGN[q.kind], t: VERB[q.kind] + (one ? "s" : "") };
  const many = `, ${bytes.length} element${bytes.length === 1 ? "" : "s"} of ${q.buffer}: `;
  const head = [who, verb, " ", { code: q.text }, many];
  if (q.space === "local") {
    const most = Math.max(...byBank(new Set(bytes.map(o => Math.floor(o / 4)))).values());
    if (most === 1) return say(head, "no bank is asked for more than one word, so all come at once.");
    return say(head, `the busiest bank is asked for ${most} words, so it takes ${most} turns.`);
  }
  const segments = new Set(bytes.map(o => Math.floor(o / SEGMENT))).size;
  const wanted = bytes.length * q.size;
  const moved = segments === 1 ? "1 segment of 128 bytes is" : `${segments} segments of 128 bytes are`;
  return say(head, `${moved} moved for ${wanted} bytes, ${percent(wanted, segments * SEGMENT)} % of them.`);
}

/** A button for each place of the source that touches memory, with its averages. */
function placeButton(q, onclick) {
  const banks = () => `${q.conflicts.toFixed(1)} words in the busiest bank`;
  const segments = () => `${q.segments.toFixed(1)} segments, ${Math.round(100 * q.useful)} % used`;
  const verb = html("span", { class: "v " + SIGN[q.kind] }, VERB[q.kind] + "s");
  const score = html("span", { class: "score" }, q.space === "local" ? banks() : segments());
  const where = html("small", {}, `line ${q.line}, ${q.space} ${q.buffer}`);
  const parts = [verb, " ", html("code", {}, q.text), score, where];
  return quiet(html("button", { type: "button", class: "place", onclick }, ...parts));
}

/** What is moved for these words: the rows of segments, or the banks that are asked for several words. */
function framesOf(q, words) {
  const rows = [...new Set(words.map(w => Math.floor(w / BANKS)))];
  if (q.space !== "local") return rows.map(y => ({ p: 0, y, x: 0, h: 1, w: BANKS, cls: "fi" }));
  const asked = byBank(words);
  const most = Math.max(...asked.values());
  const [top, bottom] = [Math.min(...rows), Math.max(...rows)];
  const busiest = [...asked].filter(([, n]) => n > 1 && n === most);
  return busiest.map(([x]) => ({ p: 0, y: top, x, h: bottom - top + 1, w: 1, cls: "bad" }));
}

const LEGEND = [
  ["r", "7", "work-item of the 32 that reads the word"],
  ["w", "7", "that writes it"],
  [null, "×4", "so many touch the same word"],
  ["t0", "7", "asked for earlier"],
  ["fi", "1", "segment that is moved"],
  ["x", "‖", "bank that is asked for several words"],
];

function draw(model, el) {
  const d = model.get("data");
  const st = { place: Math.min(model.get("place"), d.places.length - 1), request: model.get("request") };
  const line = sentence();
  const src = source(d.source, d.keep, "source");
  const data = d.places.map(p => ({ request: unpack(p.request), lane: unpack(p.lane), offset: unpack(p.offset) }));
  const box = html("div", {});
  const here = () => d.places[st.place];
  const set = r => {
    st.request = r;
    model.set("request", r);
    model.save_changes();
    paint();
  };
  const text = r => {
    const { requests, shown } = here();
    return `request ${r + 1} of ${requests}${shown < requests ? ` (${shown} shown)` : ""}`;
  };
  const pl = player({ label: "request", get: () => st.request, set, text });
  const list = d.places.map((q, k) =>
    placeButton(q, () => {
      pl.stop();
      Object.assign(st, { place: k, request: 0 });
      model.set("place", k);
      model.set("request", 0);
      model.save_changes();
      build();
      paint();
    }),
  );
  let picture = null;
  function build() {
    const q = here();
    const top = data[st.place].offset.reduce((a, b) => Math.max(a, b), 0);
    const rows = Math.floor((top + q.size - 1) / SEGMENT) + 1;
    const segments = "each row is a segment of 128 bytes; columns are its words of 4";
    picture = grid({
      name: q.buffer,
      note: q.space === "local" ? "columns are the 32 banks" : segments,
      shape: [rows, BANKS],
      cell: 22,
      wide: 22,
      dense: true,
      room: [790, 330],
      rows: y => String(y * SEGMENT),
    });
    if (box.clientWidth) picture.within(box.clientWidth);
    box.replaceChildren(picture.el);
    pl.steps(new Array(q.shown).fill(""));
    list.forEach((b, k) => b.setAttribute("aria-pressed", String(k === st.place)));
  }
  function paint() {
    const q = here();
    const sign = SIGN[q.kind];
    const wide = Math.max(1, q.size / 4);
    const touched = [];
    const before = new Set();
    const who = new Map(); // word: the lanes that touch it now
    const { request, lane, offset } = data[st.place];
    request.forEach((r, k) => {
      if (r < st.request) before.add(Math.floor(offset[k] / 4));
      if (r !== st.request) return;
      touched.push([lane[k], offset[k]]);
      for (let i = 0; i < wide; i++) {
        const w = Math.floor(offset[k] / 4) + i;
        who.set(w, (who.get(w) ?? new Set()).add(lane[k]));
      }
    });
    const words = [...who.keys()];
    picture.touch(words.map(w => [w, sign]));
    if (words.length) picture.show(Math.min(...words), words);
    picture.frames(framesOf(q, words));
    picture.paint(w => {
      const lanes = who.get(w);
      if (!lanes) return ["", before.has(w) ? (sign === "r" ? "r0" : "w0") : ""];
      return [lanes.size > 1 ? "×" + lanes.size : String([...lanes][0]), sign];
    });
    src.show([{ start: q.start, end: q.end, cls: sign }]);
    line.set(inWords(q, st.request, touched), !pl.playing());
    pl.update();
    el.dataset.request = st.request;
  }

  const heading = html("h4", {}, "places ", html("small", {}, "averages; choose one"));
  const places = html(
    "div",
    { class: "places", role: "group", "aria-label": "places of the source" },
    heading,
    ...list,
  );
  const pictures = [html("div", { class: "memory" }, src.el, places), box];
  el.append(figure({ data: d, player: pl, sentence: line, pictures, legend: LEGEND }));
  build();
  paint();
  const size = new ResizeObserver(() => {
    if (box.clientWidth) picture.within(box.clientWidth);
  });
  size.observe(box);
  const follow = () => {
    const [k, r] = [model.get("place"), model.get("request")];
    if (k === st.place && r === st.request) return;
    const other = k !== st.place;
    st.place = Math.min(k, d.places.length - 1);
    st.request = Math.min(r, here().shown - 1);
    if (other) build();
    paint();
  };
  model.on("change:place", follow);
  model.on("change:request", follow);
  return () => {
    pl.stop();
    size.disconnect();
    model.off("change:place", follow);
    model.off("change:request", follow);
  };
}

export default { render: mount(draw) };
