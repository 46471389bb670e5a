// The conversation as it was stored, a range of messages at a time.
import { readAll } from "./answers.js";
import { folded, link, make, openAll, quiet, time, verbatim } from "./elements.js";
import { number, range, textOf } from "./picture.js";

const AROUND = 10;

/** Show the messages around one, or the newest; the one that is looked for is opened and comes into sight. */
export async function log(page, place) {
  const wanted = Number(place.how.message) || null;
  const query = wanted ? { first: Math.max(wanted - AROUND, 1), last: wanted + AROUND } : {};
  await page.fill("log", () => page.ask("turns", { ids: [place.id], query }), (it) => draw(page, place, it, wanted));
  const found = document.getElementById(`message-${wanted}`);
  found?.scrollIntoView({ block: "center" });
  found?.querySelector("summary").focus({ preventScroll: true });
}

function draw(page, place, it, wanted) {
  const said = readAll("turn", it.all).flatMap((turn) =>
    readAll("message", turn.messages).map((message, index) => ({ turn, message, seq: turn.seqs[index] }))
  );
  if (!said.length) {
    return [quiet(wanted ? `There is no message ${wanted}, nor one near it.` : "Nothing is stored.")];
  }
  const [first, last] = [said[0].seq, said.at(-1).seq];
  const to = (seq, text) => link({ ...place, how: { ...place.how, message: seq } }, text);
  const missing = wanted && !said.some(({ seq }) => seq === wanted);
  const list = make("div", "parts", ...said.map((one) => entry(page, place, one, it.generation, wanted)));
  return [
    missing ? make("p", "problem", `Message ${wanted} is not there: it was erased, or never said.`) : null,
    make(
      "p", "buttons", `Messages ${range(first, last)}`,
      first > 1 ? to(Math.max(first - AROUND, 1), "Earlier") : null,
      wanted ? to(last + AROUND, "Later") : null,
      wanted ? to("", "Newest") : null,
      openAll(list)
    ),
    list
  ];
}

function entry(page, place, { turn, message, seq }, generation, wanted) {
  const text = textOf(message);
  const heading = [
    make("b", "seq", seq), make("b", "role", message.role ?? "no role"),
    make("span", "quiet", `turn ${turn.id}, ${number(text.length)} characters${turn.completedAt ? `, ${time(turn.completedAt)}` : ""}`),
    turn.generation < generation ? make("span", "quiet", "before the last reset or change") : null,
    make("span", "start", text.slice(0, 90))
  ];
  const buttons = page.buttons("write", [["Erase this message", () => erase(page, place.id, seq)]]);
  const found = folded(seq === wanted, heading, make("div", "", verbatim(text), ...buttons), seq === wanted ? "message wanted" : "message");
  found.id = `message-${seq}`;
  return found;
}

const erase = (page, id, seq) => page.change({
  title: `Erase message ${seq}`,
  detail: `Message ${seq} of ${id} goes, with its tool calls or results and with all that was made of it. It cannot be undone.`,
  act: "Erase the message",
  call: ["eraseMessage", { ids: [id, seq] }]
});
