/** A running stack and the scripted model, as processes of the project's own environment, and a door between. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const ROOT = join(import.meta.dirname, "../../../..");
export const PATIENT_MS = 180_000;
export const TURNS = 32;
export const WINDOW = 1_500;

export type Json = Record<string, any>;

const running: ChildProcess[] = [];

async function start(...words: string[]): Promise<Json> {
  const environment = { ...process.env, SUMMARIZER_MODEL: "extractive", CONTEXT_PLANNER_MODEL: "extractive" };
  const child = spawn(join(ROOT, ".venv/bin/python"), ["-m", ...words], {
    cwd: ROOT,
    env: environment,
    stdio: ["ignore", "pipe", "ignore"],
  });
  running.push(child);
  for await (const line of createInterface(child.stdout)) return JSON.parse(line);
  throw new Error(`${words.join(" ")} ended without an address`);
}

/** End every process, and wait for the end. */
export async function stop(): Promise<void> {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null) continue;
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}

/** A running stack. */
export class Stack {
  constructor(
    readonly url: string,
    readonly key: string,
  ) {}

  static async start(): Promise<Stack> {
    const home = mkdtempSync(join(tmpdir(), "stack-"));
    const told = await start("afterturn", "up", "--json", "--port", "0", "--data-dir", home);
    return new Stack(told.base_url, told.api_key);
  }

  /** Read the stored turns of a session. */
  async turns(sessionId: string): Promise<Json[]> {
    const found: Json[] = [];
    for (let from: number | null = 1; from; ) {
      const address = `${this.url}/v1/sessions/${encodeURIComponent(sessionId)}/turns?from=${from}`;
      const answer = await fetch(address, { headers: { authorization: `Bearer ${this.key}` } });
      if (answer.status === 404) return found;
      const page = (await answer.json()) as Json;
      found.push(...page.turns);
      from = page.next;
    }
    return found;
  }
}

/** The scripted model, steered over HTTP. */
export class Model {
  constructor(
    readonly url: string,
    readonly control: string,
  ) {}

  static async start(): Promise<Model> {
    const told = await start("llm.scripted", "--port", "0", "--default", "ok");
    return new Model(told.base_url, told.control_url);
  }

  /** Script the next answers. */
  async next(...steps: Json[]): Promise<void> {
    const answer = await fetch(this.control, { method: "POST", body: JSON.stringify({ steps }) });
    if (!answer.ok) throw new Error(await answer.text());
  }

  /** Script a turn: every third calls a tool first. */
  async plan(number: number): Promise<void> {
    const text = `answer ${number} ${"is written in the records of hall three. ".repeat(4)}`;
    await this.next(...(number % 3 ? [] : [{ mode: "tool-call" }]), { mode: "ok", text });
  }

  /** Read the bodies of the requests so far. */
  async requests(): Promise<Json[]> {
    const told = (await (await fetch(this.control)).json()) as Json;
    return told.requests.map((one: Json) => one.body);
  }

  async reset(): Promise<void> {
    await fetch(this.control, { method: "DELETE" });
  }
}

/** A way to the service that a test may shut. */
export class Door {
  isOpen = true;
  heldSession = "";
  calls = 0;
  #server!: Server;

  static async before(stack: Stack): Promise<Door> {
    const door = new Door();
    door.#server = createServer((incoming, outgoing) => {
      door.calls += 1;
      if (!door.isOpen) {
        incoming.socket.destroy();
        return;
      }
      const { method, headers, url } = incoming;
      if (door.heldSession && url!.includes(`/${door.heldSession}/turns`)) {
        const problem = { type: "unavailable", status: 503, detail: "others held the same rows", held: true };
        outgoing.writeHead(503, { "content-type": "application/problem+json", "retry-after": "0" });
        outgoing.end(JSON.stringify(problem));
        return;
      }
      const passed = request(stack.url + url, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
    door.#server.listen(0, "127.0.0.1");
    await once(door.#server, "listening");
    return door;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Write the words of a turn's user. */
export function question(number: number): string {
  return `question ${number}: please look the crate up, and say where it stands and how heavy it is`;
}

/** Read the words of a message. */
export function textOf(message: Json): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part: Json) => part.text ?? "").join("");
}
