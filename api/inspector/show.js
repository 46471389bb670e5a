// Answers as elements. Texts of conversations are hostile: they enter the page as text, never as markup.
import { readAll } from "./answers.js";
import { labelOf, nameOf, number, origins, range, reading, runs, segments, textOf, why, words } from "./picture.js";

const LONG_CHARS = 500;
const MOST_ROWS = 8;

/** An element of a class with children: elements, or values that become text. */
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : `${child}`)));
  return element;
}

const time = (at) => (at ? `${at.slice(0, 19).replace("T", " ")} UTC` : "never");
const age = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);
const money = (usd) => (usd === null ? "unknown" : `$${usd.toFixed(usd < 1 ? 4 : 2)}`);
const quiet = (text) => make("p", "quiet", text);
const chip = (text, kind) => make("span", `chip ${kind}`, text);

function table(heads, rows, numeric = []) {
  const cell = (tag) => (value, place) => make(tag, numeric.includes(place) ? "number" : "", value ?? "");
  const head = make("tr", "", ...heads.map(cell("th")));
  head.querySelectorAll("th").forEach((one) => one.setAttribute("scope", "col"));
  const body = rows.map((row) => make("tr", "", ...row.map(cell("td"))));
  const whole = make("div", "scroll", make("table", "", make("thead", "", head), make("tbody", "", ...body)));
  whole.tabIndex = 0;
  whole.setAttribute("role", "group");
  whole.setAttribute("aria-label", heads.filter(Boolean).join(", "));
  return whole;
}

function folded(open, heading, body, className = "") {
  const whole = make("details", className, make("summary", "", ...heading), body);
  whole.open = open;
  return whole;
}

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null);
  return make("dl", "facts", ...shown.map(([name, value]) => make("div", "", make("dt", "", name), make("dd", "", value))));
}

export function problem(refusal) {
  const numbers = Object.entries(refusal.numbers).map(([name, value]) => [name.replaceAll("_", " "), said(value)]);
  return make(
    "div",
    "problem",
    make("strong", "", refusal.title),
    make("p", "", refusal.detail),
    numbers.length ? facts(numbers) : null
  );
}

/** A member of a problem, whatever it is: `{"tools": 9}` reads "tools 9". */
function said(value) {
  const parts = value && typeof value === "object" ? Object.entries(value) : null;
  return parts ? parts.map(([name, one]) => `${name} ${said(one)}`).join(", ") : `${value}`;
}

export function session(it) {
  const background = it.pending
    ? `work is due${it.ageS === null ? "" : `, for ${age(it.ageS)}`}`
    : "nothing is due";
  const work = readAll("work", it.work).map((one) => [
    one.kind, one.state, make("span", "nowrap", time(one.dueAt)), one.attempts, one.crashes, one.outcome, one.error
  ]);
  return [
    facts([
      ["Turns", `${number(it.turns)} in ${number(it.lastSeq)} messages`],
      ["Last turn", time(it.lastTurnAt)],
      ["Model", it.model ?? "not named yet"],
      ["Window", it.window === null ? "not named yet" : `${number(it.window)} tokens`],
      ["Generation", it.generation > 1 ? `${it.generation}, after a reset, an edit or an erasure` : null],
      ["Summarized", it.through ? `through message ${it.through} of ${it.lastSeq}` : "nothing yet"],
      ["Background", background],
      ["Summaries rest", it.restsUntil ? `until ${time(it.restsUntil)}: ${it.restReason}` : null],
      ["History", `${number(it.history)} tokens: ${number(it.raw)} raw, ${number(it.summarized)} summarized`],
      ["Its summary", it.summary ? `${number(it.summary)} tokens` : null],
      ["Last request", `${number(it.prompt)} tokens of system prompt, ${number(it.tools)} of tools`]
    ]),
    ...it.errors.map((error) => make("p", "problem", `Last error: ${error}`)),
    work.length
      ? table(["work", "state", "due", "failures", "crashes", "last outcome", "last error"], work, [3, 4])
      : quiet("No background work is known for it.")
  ];
}

function bar(certificate, parts) {
  const whole = make("div", "bar");
  whole.setAttribute("role", "img");
  whole.setAttribute("aria-label", parts.map((part) => `${part.label}: ${part.tokens} tokens`).join("; "));
  for (const part of parts) {
    const piece = make("span", `piece of-${part.source}`);
    piece.style.flexGrow = part.tokens;
    piece.title = `${part.label}: ${number(part.tokens)} tokens`;
    whole.append(piece);
  }
  const scale = make("p", "scale", make("span", "", "0"), make("span", "", `${number(certificate.window)} tokens`));
  return make("div", "", whole, scale);
}

function legend(parts) {
  const rows = parts.map((part) => [
    make("span", "key", make("i", `swatch of-${part.source}`), part.label),
    number(part.tokens), `${(part.share * 100).toFixed(1)} %`, part.origin, part.trust
  ]);
  return table(["part", "tokens", "of the window", "from", "trusted as"], rows, [1, 2]);
}

const RUNS = { summary: "in the summary", history: "in the tail", excluded: "left out", absent: "not in this window" };

function strip(found, lastSeq) {
  if (!lastSeq) {
    return quiet("Nothing was said in this session yet: only what the request brings is sent.");
  }
  const pieces = found.flatMap(({ kind, first, last }, place) => {
    const text = `${range(first, last)} ${RUNS[kind]}`;
    const piece = make("span", `run of-${kind}`, make("b", "", range(first, last)), ` ${RUNS[kind]}`);
    piece.style.flexGrow = last - first + 1;
    piece.title = text;
    const cut = kind === "history" && place > 0;
    return cut ? [make("span", "cut", make("b", "", `cut ${found[place - 1].last} | ${first}`)), piece] : [piece];
  });
  return make("div", "strip", ...pieces);
}

export function context(it, certificate, blocks) {
  const excluded = readAll("exclusion", certificate.excluded);
  const losses = readAll("loss", certificate.losses).map((one) => [one.kind, one.why, one.seqs.join(", ")]);
  const parts = segments(certificate, blocks);
  const said = words(certificate, it).map(({ good, text }) => make("li", good === null ? "" : good ? "good" : "bad", text));
  const left = table(["left out", "why", "", "tokens"], excluded.map((one) => [
    one.what, why(one.why), make("code", "", one.why), one.tokens === null ? "not counted" : number(one.tokens)
  ]), [3]);
  return [
    bar(certificate, parts), legend(parts),
    make("h3", "", "The conversation"), strip(runs(certificate, excluded, it.lastSeq), it.lastSeq),
    make("ul", "words", ...said),
    tools(it),
    ...artifacts(it),
    excluded.length ? folded(excluded.length <= MOST_ROWS, [`${excluded.length} left out`], left) : quiet("Nothing was left out."),
    certificate.repairs.length ? make("ul", "words", ...certificate.repairs.map((one) => make("li", "bad", `Mended: ${one}`))) : null,
    losses.length ? table(["not carried", "what became of it", "messages"], losses) : null
  ];
}

function artifacts(it) {
  const rows = readAll("artifact", it.artifacts).map((one) => [
    one.source, number(one.chars), reading(one), one.tokens ? number(one.tokens) : "", one.reason
  ]);
  if (!rows.length) {
    return [];
  }
  const planned = it.byModel ? "A model planned" : "The rule planned";
  return [
    table(["artifact", "characters", "shown as", "tokens", "why"], rows, [1, 3]),
    quiet(`${planned} how they are used${it.byRule ? `: ${it.byRule}` : ""}.`)
  ];
}

function tools(it) {
  const offered = (it.tools ?? []).map((tool) => chip(nameOf(tool), "good"));
  const hidden = [...(it.filtered ?? []), ...(it.hidden ?? [])].map((name) => chip(name, "off"));
  if (!offered.length && !hidden.length) {
    return quiet("The request brings no tools.");
  }
  const line = (name, chips) => make("p", "chips", `${name} ${chips.length}: `, ...chips);
  return make("div", "", line("Tools offered", offered), hidden.length ? line("Tools hidden", hidden) : null);
}

export function messages(it, blocks) {
  const all = readAll("message", it.messages);
  const from = origins(all.map((one) => one.role), blocks, 1);
  return all.map((one, place) => {
    const text = textOf(one);
    const { source, origin } = from[place];
    const isLong = text.length > LONG_CHARS;
    const heading = [
      make("i", `swatch of-${source}`), make("b", "role", one.role ?? "no role"),
      make("span", "quiet", [describe(source, origin), `${number(text.length)} characters`].join(", ")),
      make("span", "start", text.slice(0, 90))
    ];
    return folded(!isLong, heading, verbatim(text), "message");
  });
}

function describe(source, origin) {
  const label = labelOf(source);
  return origin === "request" || !origin ? label : origin.startsWith(label) ? origin : `${label}, ${origin}`;
}

function verbatim(text) {
  const whole = make("pre", "", text || "(no text)");
  whole.dir = "auto";
  return whole;
}

export function summaries(it) {
  const all = readAll("summary", it.all);
  return all.length ? all.map(summary) : [quiet("None was written yet.")];
}

function summary(one) {
  const base = one.base === null ? "from the messages alone" : `on version ${one.base}`;
  const heading = [
    make("b", "", `Version ${one.version}`), chip(one.state, one.state === "active" ? "good" : one.state === "rejected" ? "bad" : "off"),
    make("span", "quiet", `messages ${range(one.from, one.to)}, ${base}: ${number(one.covered)} tokens became ${number(one.tokens)}; `
      + `${one.model}, ${one.method}, ${time(one.createdAt)}`),
    one.rejected ? make("span", "bad", `rejected: ${one.rejected}`) : null
  ];
  return folded(false, heading, verbatim(one.text), "message");
}

export function usage(it) {
  const days = readAll("day", it.days).map((one) => [
    one.day, one.purpose, one.model, number(one.calls), number(one.failed), number(one.input), number(one.cached),
    number(one.output), money(one.price)
  ]);
  const caps = readAll("cap", it.caps).map((one) =>
    one.cap === null ? `no cap on ${one.unit}` : `${number(one.charged)} of ${number(one.cap)} ${one.unit}`
  );
  const heads = ["day", "for", "model", "calls", "failed", "input", "cached", "output", "price"];
  return [
    days.length ? table(heads, days, [3, 4, 5, 6, 7, 8]) : quiet("No model was called."),
    quiet(`${number(it.calls)} calls, ${money(it.price)} known${it.unpriced ? `, ${it.unpriced} calls of unknown price` : ""}. `
      + `Today against the caps: ${caps.join(", ")}.`)
  ];
}
