// Sessions and users: found by the beginning of an id, a page at a time.
import { readAll } from "./answers.js";
import { link, make, nowrap, quiet, table, time } from "./elements.js";
import { number } from "./picture.js";

function turnPage(place, next) {
  const { cursor, ...first } = place.how;
  return make(
    "p", "buttons",
    cursor ? link({ ...place, how: first }, "First page") : null,
    next ? link({ ...place, how: { ...first, cursor: next } }, "Next page") : null
  );
}

export async function sessions(page, place) {
  const { prefix, user, since, cursor } = place.how;
  const query = { prefix, user, since: since ? `${since}T00:00:00Z` : "", cursor };
  await page.fill("sessions", () => page.ask("sessions", { query }), (it) => {
    const rows = readAll("listed", it.all).map((one) => [
      link({ view: "session", id: one.id }, one.id), number(one.turns), number(one.tokens), one.model,
      nowrap(time(one.lastTurnAt)), nowrap(time(one.createdAt))
    ]);
    const heads = ["session", "turns", "tokens", "model", "last turn", "first seen"];
    return [
      rows.length ? table("Sessions", heads, rows, [1, 2]) : quiet("No session is found."),
      turnPage(place, it.next)
    ];
  });
}

export async function users(page, place) {
  const { prefix, cursor } = place.how;
  await page.fill("users", () => page.ask("users", { query: { prefix, cursor } }), (it) => {
    const rows = readAll("user", it.all).map(({ id }) => [
      id, link({ view: "sessions", how: { user: id } }, "sessions"), ...page.buttons("write", [["Erase", () => erase(page, id)]])
    ]);
    const heads = ["user", "of the user", ...(page.can("write") ? ["change"] : [])];
    return [rows.length ? table("Users", heads, rows) : quiet("No user is found."), turnPage(place, it.next)];
  });
}

const erase = (page, id) => page.change({
  title: `Erase the user ${id}`,
  detail: "Every turn of the user goes, in every session, with all that was made of it. It cannot be undone.",
  act: "Erase the user",
  typed: id,
  call: ["eraseUser", { ids: [id] }]
});
