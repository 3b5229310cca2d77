// A data race: two work-items, one cell, two places of the source, and what would order them.
import { bracket, figure, html, mount, say } from "./core.js";
import { choice, sentence } from "./controls.js";
import { grid } from "./grid.js";
import { links } from "./links.js";
import { source } from "./source.js";

const VERB = { load: "reads", store: "writes", atomic: "updates" };
const SIGN = { load: "r", store: "w", atomic: "a" };
const NUMBER = "①②";
const LEGEND = [
  ["w", "①", "work-item that writes"],
  ["r", "②", "the other one"],
  ["x", "✕", "the cell where they meet"],
  [null, "•", "other cells with the same race"],
];
const cap = t => t[0].toUpperCase() + t.slice(1);

/** One of the two accesses, as a line: what it did, to which cell, with which value. */
function lane(end, k, cell) {
  const verb = html("span", { class: "v " + SIGN[end.kind] }, VERB[end.kind]);
  const value = ` and got ${end.value}`;
  const what = [html("code", {}, cell), end.kind === "load" ? value : `, the value ${end.value}`];
  const text = html("span", {}, `${end.who} `, verb, " ", ...what);
  return html("div", { class: "lane" }, html("b", {}, NUMBER[k]), text, html("small", {}, `line ${end.line}`));
}

function draw(model, el) {
  const d = model.get("data");
  const st = { race: Math.min(model.get("race"), d.races.length - 1), pair: model.get("pair") };
  const line = sentence();
  const src = source(d.source, d.keep, `source of ${d.kernel}`);
  const pictures = html("div", { class: "meeting" });
  const lanes = html("div", { class: "mem lanes" });
  const fix = html("p", { class: "fix" });
  const race = () => d.races[st.race];
  const pair = () => race().pairs[st.pair] ?? race().pairs.lowest;
  let connect = () => {};

  function picture() {
    const { among, ends, cell } = pair();
    const { buffer, cells } = race();
    const also = new Set(cells);
    const who = grid({ ...among, room: [300, 300] });
    const memory = grid({ ...buffer, room: [360, 300] });
    const width = side.clientWidth;
    if (width) [who, memory].forEach(g => g.within(width));
    const sign = i => ends.findIndex(e => e.place === i);
    who.touch(ends.map(e => [e.place, SIGN[e.kind]]));
    ends.forEach(e => who.show(e.place));
    who.paint(i => (sign(i) < 0 ? ["", ""] : [NUMBER[sign(i)], SIGN[ends[sign(i)].kind]]));
    memory.touch([[cell, "x"]]);
    memory.show(cell);
    memory.paint(i => (i === cell ? ["✕", "x"] : [also.has(i) ? "•" : "", "none"]));
    pictures.replaceChildren(who.el, memory.el);
    const wire = links(pictures);
    connect = () => {
      const target = memory.rect(cell);
      const from = ends.map(e => who.rect(e.place)).filter(Boolean);
      if (target)
        wire(
          from.map(f => [f, target]),
          who.svg.getBoundingClientRect(),
          memory.svg.getBoundingClientRect(),
        );
    };
  }
  function paint() {
    const { ends, cell, said } = pair();
    const { buffer, why } = race();
    const [a, b] = ends;
    const name = bracket(buffer.name, cell, buffer.shape);
    const does = e => ({ v: SIGN[e.kind], t: VERB[e.kind] });
    const head = [cap(a.who) + " ", does(a), " ", { code: name }, `, and ${b.who} `, does(b), " it. "];
    line.set(say(head, why, said ? " " + said : ""));
    src.show(ends.map(e => ({ start: e.start, end: e.end, cls: SIGN[e.kind] })));
    const same =
      a.phase === b.phase
        ? `phase ${a.phase}`
        : `phases ${ends
            .map(e => e.phase)
            .sort((x, y) => x - y)
            .join(" and ")}`;
    const title = html("div", { class: "space" }, html("b", {}, same), ", in no known order");
    lanes.replaceChildren(title, ...ends.map((e, k) => lane(e, k, name)));
    fix.replaceChildren(...say({ v: "b", t: "what helps" }, " " + race().fix));
    picture();
    connect();
    pairs.el.style.display = race().pairs.harm ? "" : "none";
    el.dataset.race = st.race;
    el.dataset.pair = st.pair;
  }
  const set = (key, v) => {
    st[key] = v;
    model.set(key, v);
    model.save_changes();
    paint();
  };
  const two = [
    ["harm", "that did harm in this run"],
    ["lowest", "with the lowest numbers"],
  ];
  const all = d.races.map((r, k) => [k, String(k + 1)]);
  const pairs = choice(
    "pair",
    two,
    () => st.pair,
    v => set("pair", v),
  );
  const races = choice(
    "race",
    all,
    () => st.race,
    v => set("race", v),
  );
  const side = html("div", {}, pictures, lanes, fix);
  const options = [...(all.length > 1 ? [races.el] : []), pairs.el];
  const body = html("div", { class: "race" }, src.el, side);
  el.append(figure({ data: d, options, sentence: line, pictures: [body], legend: LEGEND }));
  el.firstChild.classList.add("card");
  paint();
  let width = 0;
  const size = new ResizeObserver(() => {
    if (side.clientWidth === width) return;
    width = side.clientWidth;
    picture();
    connect();
  });
  size.observe(side);
  const follow = () => {
    const [race_, pair_] = [model.get("race"), model.get("pair")];
    if ((race_ === st.race && pair_ === st.pair) || !(race_ < d.races.length)) return;
    Object.assign(st, { race: race_, pair: pair_ });
    races.update();
    pairs.update();
    paint();
  };
  model.on("change:race", follow);
  model.on("change:pair", follow);
  return () => {
    size.disconnect();
    model.off("change:race", follow);
    model.off("change:pair", follow);
  };
}

export default { render: mount(draw) };
