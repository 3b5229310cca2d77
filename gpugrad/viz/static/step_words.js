// A step in words. describe() says the same, in viz/steps.py.
import { bracket, counted, num, product, say } from "./core.js";

export const SIGN = { load: "r", store: "w", atomic: "a", barrier: "b", assign: "s", row: "x", private: "x" };
const VERB = { load: "reads", store: "writes", atomic: "updates", assign: "sets", row: "uses", private: "uses" };
const CLAMPED = 128; // viz/steps.py says what this bit is

/** An index outside its buffer: as it was, or the largest that an event holds. */
export const outer = s => (s.fault & CLAMPED ? `${s.i[0]} or ${s.i[0] > 0 ? "more" : "less"}` : String(s.i[0]));

const cap = t => t[0].toUpperCase() + t.slice(1);
const nums = s => s.v.map(num).join(", ");

function cell(s, bufs) {
  if (s.b < 0) return "an address in no buffer";
  const { name, shape } = bufs[s.b];
  const first = s.wrong ? `${name}[${outer(s)}]` : bracket(name, s.i[0], shape);
  return first + (s.i.length > 1 ? ` to [${s.i.at(-1)}]` : "");
}

function overflow(s) {
  const from = s.reads.flatMap(t => t.v);
  if (s.was != null) from.push(s.was);
  if (!from.length || s.v.every(Number.isFinite) || !from.every(Number.isFinite)) return "";
  const infinite = s.v.some(v => Math.abs(v) === Infinity);
  return infinite ? " It overflows: the result is larger than any number of its type." : " That is no number.";
}

function fault(s, who, bufs) {
  const bad = { v: "x", t: "✕ " + VERB[s.k] };
  if (s.k === "private" && s.site.name === "pointer") {
    const where = s.v[0] ? `it goes to element ${s.i[0]} of ${s.v[0]}` : "its pointer leads to no variable";
    const end = `: ${where}. The access was left out.`;
    return say(who, { v: "x", t: "✕ leaves" }, " private memory in ", { code: s.site.text }, end);
  }
  if (s.k === "row" || s.k === "private")
    return say(who, bad, ` index ${s.i[0]} in `, { code: s.site.text }, ", which is outside.");
  const end = s.k === "load" ? "Nothing was read: 0 was used." : "Nothing was written.";
  if (s.b < 0) return say(who, bad, ` an address that is in no buffer. ${end}`);
  const { name, size } = bufs[s.b];
  if (!(s.fault & 1)) return say(who, bad, ` ${name} at a misaligned address. ${end}`);
  const which = size ? ` (0 to ${size - 1})` : "";
  const many = `, but ${name} has ${counted(size, "element")}${which}. ${end}`;
  return say(who, bad, " ", { code: `${name}[${outer(s)}]` }, many);
}

/** The sentence of step s; `origin` is the step that wrote what a load reads, where that is known. */
export function inWords(s, r, bufs, origin) {
  const who = cap(r.who(s.w)) + " ";
  if (s.k === "barrier") {
    const count = product(r.lsize);
    const where = (count > 1 ? `for all ${count} of ` : "alone in ") + r.gname(r.group(s.w));
    return say(who, { v: "b", t: "waits" }, ` at the barrier ${where}. Phase ${s.phase} ends here.`);
  }
  if (s.wrong) return fault(s, who, bufs);
  const verb = [{ v: SIGN[s.k], t: VERB[s.k] }, " "];
  const value = t => ({ code: `${cell(t, bufs)} = ${nums(t)}` });
  if (s.k === "load") {
    if (!origin) return say(who, verb, value(s), ` from ${bufs[s.b].space} memory.`);
    if (origin.w === s.w) return say(who, verb, value(s), ", which it wrote itself.");
    return say(who, verb, value(s), `, written in phase ${origin.phase} by ${r.who(origin.w)}.`);
  }
  const between = k => (k === 0 ? "" : k === s.reads.length - 1 ? " and " : ", ");
  const many = s.reads.length > 3 ? `${s.reads.length} reads` : s.reads.map((t, k) => [between(k), value(t)]);
  const end = [s.reads.length ? [", from ", many, "."] : ".", overflow(s)];
  if (s.k === "assign") {
    const was = s.was == null ? "" : ` (was ${num(s.was)})`;
    return say(who, verb, { code: s.site.name }, " to ", { code: nums(s) }, was, end);
  }
  const [what, where] = [{ code: nums(s) }, { code: cell(s, bufs) }];
  return say(who, verb, s.k === "atomic" ? [where, " to ", what] : [what, " to ", where], end);
}

export const idle = (w, r, left_out) =>
  say(`${cap(r.who(w))} touches no memory${left_out ? ", or was not recorded" : ""}.`);
