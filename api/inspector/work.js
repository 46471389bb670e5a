// Work that is not done: given up, running, due.
import { readAll } from "./answers.js";
import { age, chip, link, make, nowrap, quiet, table, time } from "./elements.js";
import { number } from "./picture.js";

const COLOUR = { dead: "bad", running: "good" };

export async function work(page) {
  await page.fill("work", () => page.ask("queue"), (it) => {
    const busy = readAll("kind", it.kinds).filter((one) => one.due + one.later + one.running + one.dead);
    const kinds = busy.map((one) => [
      one.name, number(one.due), one.oldestS === null ? "" : age(one.oldestS), number(one.later), number(one.running), number(one.dead)
    ]);
    const pieces = readAll("piece", it.all).map((one) => [
      one.kind, one.session === null ? one.key : link({ view: "session", id: one.session }, one.session),
      chip(one.state, COLOUR[one.state] ?? "off"), nowrap(time(one.dueAt)), one.attempts, one.crashes, one.waitsFor, one.error ?? one.outcome
    ]);
    const heads = ["work", "for", "state", "due", "failures", "crashes", "waits for a", "last said"];
    return [
      kinds.length && table("Work by kind", ["work", "due", "oldest due for", "later", "running", "given up"], kinds, [1, 2, 3, 4, 5]),
      pieces.length && make("h3", "", "Piece by piece"),
      pieces.length ? table("Pieces of work", heads, pieces, [4, 5]) : quiet("Nothing is due, running or given up."),
      it.more ? quiet("There is more than is counted and listed here.") : null
    ];
  });
}
