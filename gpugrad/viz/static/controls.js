// The player (slider, buttons, strip of steps), a choice of several, the sentence.
import { html, svg, quiet } from "./core.js";

export const button = (text, label, onclick, attributes = {}) => quiet(html("button", { type: "button", "aria-label": label, title: label, onclick, ...attributes }, text));

/** Buttons of which one is chosen. options: [value, text]; closed(value) gives the sentence why it cannot be had here. */
export function choice(label, options, get, set, closed = () => null) {
  const buttons = options.map(([value, text]) => {
    const b = button(text, `${label} ${text}`, () => { if (!b.disabled) { set(value); update(); } }, { role: "radio" });
    b.value_ = value;
    return b;
  });
  const el = html("span", { class: "seg", role: "radiogroup", "aria-label": label }, html("span", {}, label), ...buttons);
  const update = () => buttons.forEach(b => {
    const why = closed(b.value_);
    b.setAttribute("aria-checked", String(b.value_ === get()));
    b.disabled = !!why;
    b.title = why ?? `${label} ${b.textContent}`;
  });
  update();
  return { el, update, closed: () => buttons.some(b => b.disabled) };
}

/** The options of an explorer, each with what it can be. Where there is no kernel, only what was computed before is open. */
export function options(model, data, ask) {
  const here = () => data().params ?? {}, stored = () => model.get("store") ?? {};
  const name = params => (data().controls ?? []).map(c => params[c.key]).join("|");
  const closed = key => value => {
    if (value === here()[key] || model.get("live") || stored()[name({ ...here(), [key]: value })]) return null;
    return "Needs the device: works in a running notebook.";
  };
  const list = (data().controls ?? []).map(c => choice(c.label, c.options.map(v => Array.isArray(v) ? v : [v, String(v)]), () => here()[c.key], v => {
    const params = { ...here(), [c.key]: v }, found = stored()[name(params)];
    if (found && !model.get("live")) { model.set("data", found); model.save_changes(); } else ask(params);
  }, closed(c.key)));
  const note = html("small", { class: "closed" });
  const update = () => { list.forEach(c => c.update()); note.textContent = list.some(c => c.closed()) ? "dashed: needs the device, not on this page" : ""; };
  update();
  return { els: list.length ? [...list.map(c => c.el), note] : [], update };
}

export function sentence() {
  const el = html("p", { class: "say", role: "status", "aria-live": "polite" });
  return { el, set(parts, aloud = true) { el.setAttribute("aria-live", aloud ? "polite" : "off"); el.replaceChildren(...parts); } };
}

/** get and set the position; jumps: [text, label, position => next position or null]. steps(kinds, phases) draws the strip. */
export function player({ label, get, set, jumps = [], text, pace = 700 }) {
  let n = 1, timer = null, starts = [];
  const range = quiet(html("input", { type: "range", min: 0, step: 1, "aria-label": label }));
  const out = html("output", {}), strip = svg("svg", { class: "strip", preserveAspectRatio: "none", viewBox: "0 0 1000 18", "aria-hidden": "true" });
  const phases = html("div", { class: "phases", "aria-hidden": "true" });
  const go = p => { if (p != null) set(Math.max(0, Math.min(n - 1, p))); };
  const stop = () => {
    clearInterval(timer); timer = null;
    play.textContent = "▶"; play.setAttribute("aria-pressed", "false"); play.setAttribute("aria-label", "play"); play.title = "play";
  };
  const toggle = () => {
    if (timer) { stop(); update(); return; }
    if (get() >= n - 1) go(0);
    play.textContent = "❚❚"; play.setAttribute("aria-pressed", "true"); play.setAttribute("aria-label", "pause"); play.title = "pause";
    timer = setInterval(() => { if (!range.isConnected || get() >= n - 1) stop(); else go(get() + 1); }, pace);
  };
  const prev = button("‹", "previous step", () => { stop(); go(get() - 1); }), next = button("›", "next step", () => { stop(); go(get() + 1); });
  const play = button("▶", "play", toggle, { "aria-pressed": "false", class: "play" });
  const hops = jumps.map(([t, l, f]) => { const b = button(t, l, () => { stop(); go(f(get())); }); b.target = f; return b; });
  range.addEventListener("input", () => { stop(); go(+range.value); });
  range.addEventListener("keydown", e => { if (e.key === " ") { e.preventDefault(); toggle(); } });
  const update = () => {
    const p = get();
    range.value = p; out.textContent = text(p); range.setAttribute("aria-valuetext", text(p));
    prev.disabled = p <= 0; next.disabled = p >= n - 1; hops.forEach(b => { b.disabled = b.target(p) == null; });
    [...phases.children].forEach((e, i) => e.classList.toggle("now", p >= starts[i] && p < (starts[i + 1] ?? n)));
  };
  const TOP = { b: 0, x: 0, w: 4, a: 4, r: 10, s: 14 };
  const steps = (kinds, named = []) => {
    n = Math.max(1, kinds.length); range.max = n - 1; starts = named.map(x => x.at);
    const width = n > 200 ? 1 : n > 90 ? 2 : 5, last = Math.max(1, n - 1), paths = new Map();
    if (n <= 4000) kinds.forEach((k, i) => { if (k) paths.set(k, (paths.get(k) ?? "") + `M${1000 * i / last} ${TOP[k]}V18`); });
    strip.replaceChildren(...[...paths].map(([k, d]) => svg("path", { class: k, d, "stroke-width": k === "b" ? Math.min(3, width) : width, "vector-effect": "non-scaling-stroke" })));
    strip.style.display = paths.size ? "" : "none";
    phases.replaceChildren(...named.map((x, i) => {
      const from = Math.max(0, x.at - 0.5), to = Math.min((named[i + 1]?.at ?? n) - 0.5, n - 1), room = (to - from) / last;
      return html("span", { style: `left:${from / last * 100}%;width:${room * 100}%`, title: x.name }, room > 0.12 ? x.name : room > 0.025 ? x.name.replace(/\D+/, "") : "");
    }));
    phases.classList.toggle("empty", !named.length);
  };
  return { el: html("div", { class: "player" }, html("div", { class: "bar" }, prev, play, next, ...hops, out), range, strip, phases), update, steps, stop, playing: () => timer !== null };
}
