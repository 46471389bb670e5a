// What models cost the tenant: tokens and money by day, and each kind of call.
import { readAll } from "./answers.js";
import { folded, make, money, quiet, table } from "./elements.js";
import { byDay, number } from "./picture.js";

const MOST_ROWS = 12;

export async function usage(page, place) {
  const days = Number(place.how.days) || 30;
  document.getElementById("days").value = days;
  const first = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  await page.fill("usage", () => page.ask("usage", { query: { first } }), draw);
}

function draw(it) {
  const found = readAll("day", it.days);
  const rows = found.map((one) => [
    one.day, one.purpose, one.model, number(one.calls), number(one.failed), number(one.input), number(one.cached),
    number(one.output), money(one.price)
  ]);
  const caps = readAll("cap", it.caps).map((one) =>
    one.cap === null ? `no cap on ${one.unit}` : `${number(one.charged)} of ${number(one.cap)} ${one.unit}`
  );
  const heads = ["day", "for", "model", "calls", "failed", "input", "cached", "output", "price"];
  const whole = table("Calls by day, purpose and model", heads, rows, [3, 4, 5, 6, 7, 8]);
  const days = byDay(found, it.first, it.last);
  return [
    quiet(`${number(it.calls)} calls, ${money(it.price)} known${it.unpriced ? `, ${it.unpriced} calls of unknown price` : ""}. `
      + `Today against the caps: ${caps.join(", ")}.`),
    ...(rows.length
      ? [
        chart("Tokens by day", days, (day) => day.tokens, (value) => `${number(value)} tokens`),
        days.some((day) => day.price) ? chart("Known price by day", days, (day) => day.price, money) : quiet("No money is known to be spent."),
        folded(rows.length <= MOST_ROWS, [`Each day, purpose and model: ${rows.length} ${rows.length === 1 ? "row" : "rows"}`], whole)
      ]
      : [quiet("No model was called.")])
  ];
}

function chart(name, days, valueOf, said) {
  const most = Math.max(...days.map(valueOf), 0);
  const bars = days.map((day) => {
    const bar = make("i", valueOf(day) ? "" : "zero");
    bar.style.height = `${most ? Math.max((100 * valueOf(day)) / most, valueOf(day) ? 2 : 0) : 0}%`;
    const column = make("span", "", bar);
    column.title = `${day.day}: ${said(valueOf(day))}`;
    return column;
  });
  const whole = make("div", "days", ...bars);
  whole.setAttribute("role", "img");
  const told = days.filter(valueOf).map((day) => `${day.day}: ${said(valueOf(day))}`);
  whole.setAttribute("aria-label", told.join("; ") || "nothing");
  const scale = make("p", "scale", make("span", "", days[0].day), make("span", "", `highest ${said(most)}`), make("span", "", days.at(-1).day));
  return make("div", "chart", make("h3", "", name), whole, scale);
}
