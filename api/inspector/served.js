// Requests of a session as they were served, by time; one of them whole.
import { read, readAll } from "./answers.js";
import { link, make, nowrap, quiet, table, time } from "./elements.js";
import { number } from "./picture.js";
import * as sent from "./window.js";

const SETTING = "AFTERTURN_SERVED_WINDOW_SHARE";

/** Show the list, and the window that the place names. */
export async function served(page, place) {
  await page.fill("served", () => page.ask("windows", { ids: [place.id] }), (it) => list(place, it));
  await one(page, place);
}

async function one(page, place) {
  const { window: named } = place.how;
  if (!named) {
    page.put("window");
    return;
  }
  await page.fill("window", () => page.ask("window", { ids: [place.id, named] }), (it) => {
    const head = quiet(`Served ${time(it.at)} by ${it.call}, after message ${it.after}.`);
    if (it.answer === null) {
      return [head, quiet("It was too large to keep with its messages.")];
    }
    const answer = read("context", it.answer);
    return [head, ...sent.context(answer), make("h3", "", "Messages, as they were sent"), ...sent.messages(answer, place)];
  });
}

function list(place, it) {
  const rows = readAll("served", it.all).map((each) => [
    link({ ...place, how: { ...place.how, window: each.id } }, nowrap(time(each.at))), each.call, each.model, each.user, number(each.after),
    number(each.tokens), number(each.budget), each.isWhole ? `${number(each.bytes)} bytes` : "numbers alone"
  ]);
  const heads = ["served", "by", "model", "user", "after message", "tokens", "budget", "kept"];
  const share = it.share ? `${(it.share * 100).toFixed(it.share < 0.1 ? 1 : 0)} % of requests are kept now` : "None is kept now";
  return [
    rows.length ? table("Requests as they were served", heads, rows, [4, 5, 6]) : quiet("No request of the session is kept."),
    quiet(`${share} (${SETTING}). A change of what was said takes the session's windows away.`)
  ];
}
