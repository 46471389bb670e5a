// The fields of a request that are lists: made of what a person types, and found again where the API refuses them.
import { Refusal } from "./answers.js";
import { API } from "./names.js";

const idsOf = (text) => text.split(/[\s,;]+/).filter(Boolean);

/** The request's attachments: uploads by their ids, then a document as text; null for none. */
export function attachments(ids, text) {
  const named = idsOf(ids).map((id) => ({ [API.attachment.id]: id }));
  const whole = text.trim() ? [{ [API.attachment.text]: text }] : [];
  return named.length + whole.length ? [...named, ...whole] : null;
}

/** The request's tools, from JSON; null for none. Whether they are tools, the API says. */
export function tools(text) {
  if (!text.trim()) {
    return null;
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(0, "The tools are not JSON", error.message, { field: API.sends.tools });
  }
}

/** The field of the form that a refusal names, such as `attachments[1].content`; null where it is none of them. */
export function fieldOf(named, ids) {
  const [, head, place] = /^(\w+)(?:\[(\d+)\])?/.exec(named ?? "") ?? [];
  if (head === API.sends.attachments) {
    return Number(place) >= idsOf(ids).length ? "document" : "attachments";
  }
  const ours = Object.entries(API.sends).find(([, theirs]) => theirs === head)?.[0];
  return ours === "messages" ? "message" : (ours ?? null);
}
