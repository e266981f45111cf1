import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { bodies, events, parse, paths, post, textOf } from "./fetch-events.ts";
import { awkwardParts } from "./play.ts";
import type { Script, Wire } from "./script.ts";
import { startModelServer } from "./server.ts";
import type { ModelServer, ModelServerOptions } from "./server.ts";

const wires = ["responses", "chat", "messages"] as const;
const open: ModelServer[] = [];

async function serve(script: Script, options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = await startModelServer({ script, ...options });
  open.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

const look = { name: "read", arguments: { path: "src/a.txt" } };

describe.each(wires)("every wire: %s", (wire) => {
  test("raw chunks are sent as they are", async () => {
    const server = await serve([{ raw: ["event: x\nda", 'ta: {"a":1}\n\n', ": comment\n\n"] }]);
    expect(await (await post(server, wire)).text()).toBe('event: x\ndata: {"a":1}\n\n: comment\n\n');
  });

  test.each([401, 403, 404, 429, 500, 529])("status %i with the wire's own error body and the script's headers", async (status) => {
    const server = await serve([{ status, headers: { "retry-after": "7" }, error: { message: "because" } }]);
    const response = await post(server, wire);
    expect(response.status).toBe(status);
    expect(response.headers.get("retry-after")).toBe("7");
    const kind: unknown = expect.any(String);
    expect(await response.json()).toMatchObject(
      wire === "messages" ? { type: "error", error: { type: kind, message: "because" } } : { error: { message: "because", type: kind, param: null } },
    );
  });

  test("an error can have any body", async () => {
    const server = await serve([{ status: 502, body: "<html>Bad gateway</html>", headers: { "content-type": "text/html" } }]);
    const response = await post(server, wire);
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([502, "text/html", "<html>Bad gateway</html>"]);
  });

  test("split UTF-8 reassembles, and really arrives in pieces inside characters", async () => {
    const said = ["Grüße, ", "日本語 ", "👩‍👩‍👧 ", "ok"];
    const server = await serve([{ text: said, calls: [{ name: "say", arguments: { text: "ü👍" } }], splitUtf8: true }]);
    const chunks = await rawChunks(server, wire);
    const whole = Buffer.concat(chunks);
    expect(textOf(parse(whole.toString()))).toBe(said.join(""));
    expect(chunks.some((chunk) => chunk.toString().includes("\ufffd"))).toBe(true);
    expect(chunks.some((chunk) => chunk[0] === 0x0a)).toBe(true);
  });

  test("drop after events: exactly those arrive, then the connection breaks", async () => {
    const server = await serve([{ text: ["a", "b", "c", "d"], drop: { afterEvents: 5 } }]);
    const { text, failed } = await readUntilFailure(await post(server, wire));
    expect(failed).toBe(true);
    expect(text.endsWith("\n\n")).toBe(true);
    expect(parse(text)).toHaveLength(5);
    expect(await server.requests[0]!.ended).toBe("dropped");
    expect(server.requests[0]!.aborted).toBe(false);
  });

  test("drop after bytes, in the middle of a frame", async () => {
    const server = await serve([{ deltas: 5000, drop: { afterBytes: 300_001 } }]);
    const { text, failed } = await readUntilFailure(await post(server, wire));
    expect([text.length, failed]).toEqual([300_001, true]);
  });

  test("drop before the headers: the request itself fails", async () => {
    const server = await serve([{ drop: { beforeHeaders: true } }, { text: "again" }]);
    await expect(post(server, wire)).rejects.toThrow("fetch failed");
    expect(textOf(await events(server, wire))).toBe("again");
  });

  test("a clean drop ends properly, but too early", async () => {
    const server = await serve([{ text: ["a", "b"], drop: { afterEvents: 3, clean: true } }]);
    const { text, failed } = await readUntilFailure(await post(server, wire));
    expect([parse(text).length, failed]).toEqual([3, false]);
  });

  test("hang: nothing comes, not even headers, until the client goes away, which is recorded", async () => {
    const server = await serve([{ text: "never", hang: true }]);
    const leave = new AbortController();
    const answer = post(server, wire, { signal: leave.signal });
    const request = await server.waitForRequest(0);
    expect(await Promise.race([answer.then(() => "answered"), after(100).then(() => "waiting")])).toBe("waiting");
    expect(request.outcome).toBeNull();
    leave.abort();
    await expect(answer).rejects.toThrow("aborted");
    expect(await request.ended).toBe("aborted");
    expect(request.aborted).toBe(true);
  });

  test("hang after events: those arrive, then nothing", async () => {
    const server = await serve([{ text: ["a", "b", "c"], hang: { afterEvents: 5 } }]);
    const leave = new AbortController();
    const response = await post(server, wire, { signal: leave.signal });
    const { text, failed } = await readUntilFailure(response, (soFar) => {
      // More would come at once, if any did.
      if (soFar.split("\n\n").length > 5) setTimeout(() => leave.abort(), 50);
    });
    expect([parse(text).length, failed]).toEqual([5, true]);
    expect(await server.requests[0]!.ended).toBe("aborted");
  });

  test("hold waits for the test and then goes on", async () => {
    let release = (): void => {};
    const until = new Promise<void>((resolve) => (release = resolve));
    const server = await serve([{ text: ["a", "b", "c"], hold: { afterEvents: 4, until } }]);
    const response = await post(server, wire);
    const reader = response.body!.getReader();
    const first = Buffer.from((await reader.read()).value ?? []).toString();
    expect(parse(first)).toHaveLength(4);
    const next = reader.read();
    expect(await Promise.race([next.then(() => "more"), after(50).then(() => "held")])).toBe("held");
    release();
    let rest = "";
    for (let part = await next; !part.done; part = await reader.read()) rest += Buffer.from(part.value).toString();
    expect(textOf(parse(first + rest))).toBe("abc");
  });

  test("slow bytes and a late start", async () => {
    const server = await serve([{ text: ["a", "b", "c"], slowMs: 20, delayMs: 60 }]);
    const started = performance.now();
    const response = await post(server, wire);
    expect(performance.now() - started).toBeGreaterThanOrEqual(55);
    const chunks = [];
    for await (const chunk of response.body!) chunks.push(chunk);
    expect(performance.now() - started).toBeGreaterThanOrEqual(55 + 4 * 20);
    expect(chunks.length).toBeGreaterThanOrEqual(5);
  });

  test("20,000 deltas arrive, each once and in order", async () => {
    const server = await serve([{ deltas: 20_000 }]);
    const numbers = textOf(await events(server, wire)).trim().split(" ");
    expect(numbers.map(Number)).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
  });

  test("100,000 deltas are served fast", async () => {
    const server = await serve([{ deltas: { count: 100_000, size: 6 } }]);
    const started = performance.now();
    const bytes = (await (await post(server, wire)).arrayBuffer()).byteLength;
    expect(bytes).toBeGreaterThan(100_000 * 50);
    expect(performance.now() - started).toBeLessThan(3000);
  });

  test("a client that leaves in mid-stream is recorded as aborted", async () => {
    const server = await serve([{ deltas: 100_000, slowMs: 1 }]);
    const leave = new AbortController();
    const response = await post(server, wire, { signal: leave.signal });
    await response.body!.getReader().read();
    leave.abort();
    expect(await server.requests[0]!.ended).toBe("aborted");
  });

  test("closing the server ends open streams at once", async () => {
    const server = await serve([{ deltas: 1000, slowMs: 50 }]);
    const reading = readUntilFailure(await post(server, wire));
    const request = await server.waitForRequest(0);
    const started = performance.now();
    await server.close();
    expect(performance.now() - started).toBeLessThan(500);
    expect((await reading).failed).toBe(true);
    expect(await request.ended).toBe("closed");
  });

  test("made-up call ids do not collide with those of an earlier server", async () => {
    const server = await serve([{ calls: [look] }]);
    const prefix = wire === "messages" ? "toolu_" : "call_";
    const body = JSON.stringify(bodies[wire]).replace('"hi"', `"hi ${prefix}41 ${prefix}7"`);
    expect(await (await post(server, wire, { body })).text()).toContain(`"${prefix}42"`);
  });

  test("an invalid request is refused in the wire's own way, takes no reply, and is listed", async () => {
    const server = await serve([{ text: "x" }]);
    const response = await post(server, wire, { body: { ...bodies[wire], wrong: 1 } });
    expect(response.status).toBe(400);
    const body = (await response.json()) as { error: { type: string; message: string } };
    expect(body.error).toMatchObject({ type: "invalid_request_error", message: "wrong: unknown parameter" });
    expect(server.problems).toEqual(["request 0: wrong: unknown parameter"]);
    expect(server.requests[0]!.problems).toEqual(["wrong: unknown parameter"]);
    expect(textOf(await events(server, wire))).toBe("x");
  });

  test("validation can be turned off", async () => {
    const server = await serve([{ text: "x" }], { validate: false });
    expect(textOf(await events(server, wire, { wrong: 1 }))).toBe("x");
    expect(server.problems).toEqual([]);
  });

  test("a body that is not JSON is refused and kept", async () => {
    const server = await serve([]);
    expect((await post(server, wire, { body: "{oops" })).status).toBe(400);
    expect(server.requests[0]!.body).toBeUndefined();
    expect(server.requests[0]!.raw.toString()).toBe("{oops");
  });

  test("a request beyond the script is refused and listed", async () => {
    const server = await serve([{ text: "x" }]);
    await events(server, wire);
    expect((await post(server, wire)).status).toBe(400);
    expect(server.problems).toEqual(["request 1: The script has 1 replies; this request needs one more."]);
    server.push({ text: "more" });
    expect(textOf(await events(server, wire))).toBe("more");
  });

  test("with a key, requests without it are answered 401", async () => {
    const server = await serve([{ text: "x" }], { key: "secret" });
    expect((await post(server, wire)).status).toBe(401);
    const header: Record<string, string> = wire === "messages" ? { "x-api-key": "secret" } : { authorization: "Bearer secret" };
    expect((await post(server, wire, { headers: header })).status).toBe(200);
  });

  test("a server of another wire does not serve this one", async () => {
    const server = await serve([{ text: "x" }], { wire: wire === "chat" ? "messages" : "chat" });
    expect((await post(server, wire)).status).toBe(404);
    expect(server.requests).toEqual([]);
    expect(server.others).toHaveLength(1);
  });
});

describe("the server", () => {
  test("records everything of a request", async () => {
    const server = await serve([{ text: "x" }]);
    const before = Date.now();
    await (await post(server, "responses", { headers: { "x-test": "1" } })).text();
    const [request] = server.requests;
    expect(await request!.ended).toBe("completed");
    expect(request).toMatchObject({ n: 0, wire: "responses", method: "POST", path: "/v1/responses", body: bodies.responses, aborted: false, outcome: "completed", problems: [] });
    expect(request!.raw.toString()).toBe(JSON.stringify(bodies.responses));
    expect(request!.headers["x-test"]).toBe("1");
    expect(request!.at).toBeGreaterThanOrEqual(before);
  });

  test("a script can be a function of the request", async () => {
    const server = await serve(async (request, n) => ({ text: `${n}: ${request.body.model}` }));
    expect(textOf(await events(server, "responses"))).toBe("0: m");
    expect(textOf(await events(server, "chat"))).toBe("1: m");
    expect(() => server.push({})).toThrow("a function");
  });

  test("a script function that throws is a problem and a 500", async () => {
    const server = await serve(() => {
      throw new Error("oops");
    });
    expect((await post(server, "chat")).status).toBe(500);
    expect(server.problems[0]).toContain("oops");
  });

  test("waitForRequest waits, and gives up with a reason", async () => {
    const server = await serve([{ text: "x" }]);
    await expect(server.waitForRequest(0, 30)).rejects.toThrow("Model request 0 did not arrive within 30 ms; there were 0.");
    const waiting = server.waitForRequest(0);
    await events(server, "chat");
    expect((await waiting).wire).toBe("chat");
  });

  test("requests at the same time take replies in order of arrival", async () => {
    const server = await serve([{ hang: true }, { text: "second" }]);
    const leave = new AbortController();
    const first = post(server, "chat", { signal: leave.signal }).catch(() => null);
    await server.waitForRequest(0);
    expect(textOf(await events(server, "messages"))).toBe("second");
    leave.abort();
    await first;
  });

  test("any base URL works, with a query", async () => {
    const server = await serve([{ text: "x" }]);
    const response = await fetch(`${server.url}/deployments/a/chat/completions?api-version=1`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(bodies.chat) });
    expect(textOf(parse(await response.text()))).toBe("x");
    expect(server.requests[0]!.path).toBe("/deployments/a/chat/completions?api-version=1");
  });

  test("Messages needs its version header; nobody may ask for an answer that is not streamed", async () => {
    const server = await serve([]);
    const body = JSON.stringify({ ...bodies.messages, stream: false });
    await (await fetch(server.url + paths.messages, { method: "POST", headers: { "content-type": "application/json" }, body })).text();
    expect(server.problems).toEqual(["request 0: anthropic-version: header is required", "request 0: stream: this server only streams; send true"]);
  });

  test("model lists answer, unknown paths do not; neither counts as a model request", async () => {
    const server = await serve([]);
    expect(await (await fetch(`${server.url}/v1/models`)).json()).toMatchObject({ data: [{ id: "scripted" }] });
    expect((await fetch(`${server.url}/api/version`)).status).toBe(200);
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
    expect([server.requests.length, server.others.length, server.problems.length]).toEqual([0, 3, 0]);
  });

  test("starts in a few milliseconds", async () => {
    await (await startModelServer()).close();
    const started = performance.now();
    open.push(await startModelServer());
    expect(performance.now() - started).toBeLessThan(250);
  });

  test("awkward parts put together are the whole", () => {
    const bytes = Buffer.from("data: ü👍\n\ndata: x\n\n");
    expect(Buffer.concat(awkwardParts(bytes))).toEqual(bytes);
    expect(awkwardParts(bytes).every((part) => part.length > 0 && part.length <= 11)).toBe(true);
  });
});

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function readUntilFailure(response: Response, onText: (soFar: string) => void = () => {}): Promise<{ text: string; failed: boolean }> {
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk, { stream: true });
      onText(text);
    }
    return { text, failed: false };
  } catch {
    return { text, failed: true };
  }
}

/** The chunks as the network gave them; fetch may join some. */
function rawChunks(server: ModelServer, wire: Wire): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(server.url + paths[wire], { method: "POST", headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => resolve(chunks)).on("error", reject);
    });
    request.on("error", reject).end(JSON.stringify(bodies[wire]));
  });
}
