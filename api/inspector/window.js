// A window as it would be sent, or as it was sent: its picture, its certificate in words, and its messages.
import { read, readAll } from "./answers.js";
import { chip, folded, inParts, link, make, openAll, quiet, table, verbatim } from "./elements.js";
import { labelOf, nameOf, number, origins, range, reading, runs, segments, textOf, why, words } from "./picture.js";

const FEW = 8;
const MOST_ROWS = 8;

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
  return table("Parts of the window", ["part", "tokens", "of the window", "from", "trusted as"], rows, [1, 2]);
}

const RUNS = { summary: "in the summary", history: "in the tail", excluded: "left out", absent: "not in this window" };

function strip(found, lastSeq, isKnown) {
  if (!lastSeq) {
    const why = isKnown ? "Nothing was said in this session yet" : "There is no session with this id";
    return quiet(`${why}: only what the request brings is sent.`);
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

/** The picture and the certificate of a window. */
export function context(it, isKnown = true) {
  const certificate = read("certificate", it.certificate);
  const blocks = readAll("block", certificate.blocks);
  const excluded = readAll("exclusion", certificate.excluded);
  const losses = readAll("loss", certificate.losses).map((one) => [one.kind, one.why, one.seqs.join(", ")]);
  const parts = segments(certificate, blocks);
  const said = words(certificate, it).map(({ good, text }) => make("li", good === null ? "" : good ? "good" : "bad", text));
  const left = table("Left out", ["left out", "why", "code", "tokens"], excluded.map((one) => [
    one.what, why(one.why), make("code", "", one.why), one.tokens === null ? "not counted" : number(one.tokens)
  ]), [3]);
  return [
    bar(certificate, parts), legend(parts),
    make("h3", "", "The conversation"), strip(runs(certificate, excluded, it.lastSeq), it.lastSeq, isKnown),
    make("ul", "words", ...said),
    tools(it),
    ...artifacts(it),
    excluded.length ? folded(excluded.length <= MOST_ROWS, [`${excluded.length} left out`], left) : quiet("Nothing was left out."),
    certificate.repairs.length ? make("ul", "words", ...certificate.repairs.map((one) => make("li", "bad", `Mended: ${one}`))) : null,
    losses.length ? table("Not carried", ["not carried", "what became of it", "messages"], losses) : null
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
    table("Artifacts of the request", ["artifact", "characters", "shown as", "tokens", "why"], rows, [1, 3]),
    quiet(`${planned} how they are used${it.byRule ? `: ${it.byRule}` : ""}.`)
  ];
}

function tools(it) {
  const offered = (it.tools ?? []).map((tool) => chip(nameOf(tool), "good"));
  const hidden = [...(it.filtered ?? []), ...(it.hidden ?? [])].map((name) => chip(name, "off"));
  if (!offered.length && !hidden.length) {
    return quiet("The request brings no tools.");
  }
  const line = (name, chips, count = chips.length) => make("p", "chips", `${name} ${count}: `, ...chips);
  const count = Math.max((it.filteredCount ?? 0) + (it.hiddenCount ?? 0), hidden.length);
  return make("div", "", line("Tools offered", offered), hidden.length ? line("Tools hidden", hidden, count) : null);
}

/** The messages of a window, each with the part that it is of, and with the way to where it was stored. */
export function messages(it, place) {
  const blocks = readAll("block", it.certificate?.blocks);
  const all = readAll("message", it.messages);
  const from = origins(all.map((one) => one.role), blocks, 1);
  const list = inParts(all, (one, at) => {
    const text = textOf(one);
    const { source, origin } = from[at];
    const heading = [
      make("i", `swatch of-${source}`), make("b", "role", one.role ?? "no role"),
      make("span", "quiet", [describe(source, origin), `${number(text.length)} characters`].join(", ")),
      make("span", "start", text.slice(0, 90))
    ];
    const [, seq] = /^message (\d+)$/.exec(origin ?? "") ?? [];
    const stored = seq ? link({ ...place, how: { ...place.how, message: seq } }, `Message ${seq}, as it was stored`) : null;
    return folded(all.length <= FEW, heading, make("div", "", verbatim(text), stored), "message");
  });
  return [make("p", "buttons", `${number(all.length)} messages`, openAll(list)), list];
}

function describe(source, origin) {
  const label = labelOf(source);
  return origin === "request" || !origin ? label : origin.startsWith(label) ? origin : `${label}, ${origin}`;
}
