// The artifacts of a session: large tool results and uploads, each with its summaries by focus.
import { readAll } from "./answers.js";
import { chip, folded, inParts, link, make, quiet, time, verbatim } from "./elements.js";
import { number } from "./picture.js";

const COLOUR = { ready: "good", rejected: "bad" };

export function artifacts(place, it) {
  const all = readAll("stored", it.all);
  if (!all.length) {
    return [quiet("The session has none.")];
  }
  return [
    inParts(all, (one) => artifact(place, one)),
    it.more ? quiet("Older ones are not listed.") : null
  ];
}

function artifact(place, one) {
  const summaries = readAll("reading", one.summaries);
  const heading = [
    make("b", "", one.title || one.id), chip(one.kind, "off"),
    make("span", "quiet", `${number(one.chars)} characters, ${number(one.tokens)} tokens, ${number(summaries.length)} summaries, used ${time(one.usedAt)}`)
  ];
  const from = one.seq === null
    ? quiet("An upload.")
    : make("p", "quiet", `In ${number(one.uses)} messages, the newest is `, link({ ...place, how: { ...place.how, message: one.seq } }, `message ${one.seq}`), ".");
  return folded(false, heading, make("div", "inner", from, verbatim(one.preview), ...summaries.map(summary)), "message");
}

function summary(one) {
  const heading = [
    make("b", "", one.focus ? `For \u201c${one.focus}\u201d` : "In general"), chip(one.state, COLOUR[one.state] ?? "off"),
    make("span", "quiet", [
      one.tokens === null ? null : `${number(one.tokens)} tokens`, one.model || null, one.origin, `used ${number(one.uses)} times`
    ].filter(Boolean).join(", "))
  ];
  return folded(false, heading, verbatim(one.text ?? one.rejected ?? "It is not made yet."), "message");
}
