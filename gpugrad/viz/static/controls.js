// The player (slider, buttons, strip of steps), a choice of several, the sentence.
import { html, svg, quiet } from "./core.js";

export const button = (text, label, onclick, attributes = {}) =>
  quiet(html("button", { type: "button", "aria-label": label, title: label, onclick, ...attributes }, text));

const same = (a, b) => String(a) === String(b); // pairs of numbers too

/** Buttons of which one is chosen. options: [value, text]; closed(value) says why it cannot be had here, or nothing. */
export function choice(label, options, get, set, closed = () => null) {
  const buttons = options.map(([value, text]) => {
    const pick = () => {
      set(value);
      update();
    };
    return button(text, `${label} ${text}`, pick, { role: "radio" });
  });
  const arrows = e => {
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!way) return;
    e.preventDefault();
    const open = buttons.filter(b => !b.disabled);
    const next = open[(open.indexOf(e.target) + way + open.length) % open.length];
    next.focus();
    next.click();
  };
  const name = { class: "seg", role: "radiogroup", "aria-label": label, onkeydown: arrows };
  const el = html("span", name, html("span", {}, label), ...buttons);
  const update = () => {
    buttons.forEach((b, k) => {
      const value = options[k][0];
      const why = closed(value);
      b.setAttribute("aria-checked", String(same(value, get())));
      b.disabled = !!why;
      b.title = why ?? `${label} ${b.textContent}`;
    });
    // Tab comes to the chosen one, or to the first where none is; from there the arrows go on.
    const stop = buttons.find((b, k) => same(options[k][0], get())) ?? buttons.find(b => !b.disabled);
    for (const b of buttons) b.tabIndex = b === stop ? 0 : -1;
  };
  update();
  return { el, update, closed: () => buttons.some(b => b.disabled) };
}

/** The options of an explorer. Where there is no kernel to ask, only what was computed before is open. */
export function options(model) {
  const controls = () => model.get("data").controls ?? [];
  const here = () => model.get("data").params ?? {};
  const stored = params =>
    (model.get("store") ?? {})[
      controls()
        .map(c => params[c.key])
        .join("|")
    ];
  const closed = (key, value) => {
    if (same(value, here()[key]) || model.get("live") || stored({ ...here(), [key]: value })) return null;
    return "Needs the device: works in a running notebook.";
  };
  const change = (key, value) => {
    const params = { ...here(), [key]: value };
    if (model.get("live")) model.send({ ask: "params", params });
    else {
      model.set("data", stored(params));
      model.save_changes();
    }
  };
  const list = controls().map(c => {
    const values = c.options.map(v => (Array.isArray(v) ? v : [v, String(v)]));
    const set = v => change(c.key, v);
    return choice(
      c.label,
      values,
      () => here()[c.key],
      set,
      v => closed(c.key, v),
    );
  });
  const note = list.some(c => c.closed()) ? "dashed: needs the device, not on this page" : "";
  return { els: list.length ? [...list.map(c => c.el), html("small", { class: "closed" }, note)] : [] };
}

export function sentence() {
  const el = html("p", { class: "say", role: "status", "aria-live": "polite" });
  return {
    el,
    set(parts, aloud = true) {
      el.setAttribute("aria-live", aloud ? "polite" : "off");
      el.replaceChildren(...parts);
    },
  };
}

const TOP = { b: 0, x: 0, w: 4, a: 4, r: 10, s: 14 }; // the height of each sign in the strip

/** The strip of steps below the slider, and the named phases below it. */
function strip() {
  const marks = svg("svg", {
    class: "strip",
    preserveAspectRatio: "none",
    viewBox: "0 0 1000 18",
    "aria-hidden": "true",
  });
  const phases = html("div", { class: "phases", "aria-hidden": "true" });
  let starts = [];
  function drawMarks(kinds) {
    const n = kinds.length;
    const width = n > 200 ? 1 : n > 90 ? 2 : 5;
    const paths = new Map();
    if (n <= 4000)
      kinds.forEach((k, i) => {
        if (k) paths.set(k, `${paths.get(k) ?? ""}M${(1000 * i) / Math.max(1, n - 1)} ${TOP[k]}V18`);
      });
    const path = ([k, d]) => {
      const size = { "stroke-width": k === "b" ? Math.min(3, width) : width, "vector-effect": "non-scaling-stroke" };
      return svg("path", { class: k, d, ...size });
    };
    marks.replaceChildren(...[...paths].map(path));
    marks.style.display = paths.size ? "" : "none";
  }
  function drawPhases(n, named) {
    const last = Math.max(1, n - 1);
    starts = named.map(x => x.at);
    const phase = ({ at, name }, i) => {
      const from = Math.max(0, at - 0.5);
      const room = (Math.min((named[i + 1]?.at ?? n) - 0.5, n - 1) - from) / last;
      const style = `left:${(from / last) * 100}%;width:${room * 100}%`;
      const [word, number] = name.match(/^(\D+ )(\d+)$/)?.slice(1) ?? [name, ""]; // "phase 3": the word goes first
      const text = room > 0.12 ? [html("i", {}, number ? word : ""), number || word] : room > 0.025 ? [number] : [];
      return html("span", { style, title: name }, ...text);
    };
    phases.replaceChildren(...named.map(phase));
    phases.classList.toggle("empty", !named.length);
  }
  return {
    els: [marks, phases],
    draw(kinds, named) {
      drawMarks(kinds);
      drawPhases(Math.max(1, kinds.length), named);
    },
    at(p) {
      [...phases.children].forEach((e, i) => e.classList.toggle("now", p >= starts[i] && !(p >= starts[i + 1])));
    },
  };
}

/**
 * get and set the position; jumps: [text, label, position => next position or null]. steps(kinds, phases) says what the
 * positions are, and draws the strip.
 */
export function player({ label, get, set, jumps = [], text, pace = 700 }) {
  let n = 1;
  let timer = null;
  const range = quiet(html("input", { type: "range", min: 0, step: 1, "aria-label": label }));
  const out = html("output", {});
  const below = strip();
  const go = p => {
    if (p != null) set(Math.max(0, Math.min(n - 1, p)));
  };
  const shows = (glyph, name) => {
    play.textContent = glyph;
    play.title = name;
    play.setAttribute("aria-label", name);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    shows("▶", "play");
  };
  const tick = () => {
    if (!range.isConnected || get() >= n - 1) stop();
    else go(get() + 1);
  };
  const toggle = () => {
    if (timer) {
      stop();
      set(get()); // now it may be said aloud
      return;
    }
    if (get() >= n - 1) go(0);
    shows("❚❚", "pause");
    timer = setInterval(tick, pace);
  };
  const hop = (t, name, target) => {
    const move = () => {
      stop();
      go(target(get()));
    };
    return button(t, name, move);
  };
  const prev = hop("‹", "previous step", p => p - 1);
  const next = hop("›", "next step", p => p + 1);
  const play = button("▶", "play", toggle, { class: "play" });
  const hops = jumps.map(([t, name, target]) => [hop(t, name, target), target]);
  range.addEventListener("input", () => {
    stop();
    go(+range.value);
  });
  range.addEventListener("keydown", e => {
    if (e.key !== " ") return;
    e.preventDefault();
    toggle();
  });
  const update = () => {
    const p = get();
    range.value = p;
    out.textContent = text(p);
    range.setAttribute("aria-valuetext", text(p));
    prev.disabled = p <= 0;
    next.disabled = p >= n - 1;
    for (const [b, target] of hops) b.disabled = target(p) == null;
    below.at(p);
  };
  const steps = (kinds, named = []) => {
    n = Math.max(1, kinds.length);
    range.max = n - 1;
    below.draw(kinds, named);
  };
  const bar = html("div", { class: "bar" }, prev, play, next, ...hops.map(h => h[0]), out);
  const el = html("div", { class: "player" }, bar, range, ...below.els);
  return { el, update, steps, stop, playing: () => timer !== null };
}
