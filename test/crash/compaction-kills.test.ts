/**
 * kill -9 of the real binary at random moments while history is compacted: while the summary is streamed slowly, and just after. After each
 * kill the thread is resumed in a new process, and at the end:
 *
 * - every request was valid and within the window, and the log is whole;
 * - nothing is lost: what was said stands in the last request, or stood in the request for the summary that it shows;
 * - a compaction is in force as a whole or not at all.
 *
 * SKEIN_KILLS=200 SKEIN_SEED=7 npx vitest run test/crash/compaction-kills.test.ts
 */
import { expect, it } from "vitest";
import { setTimeout as delay } from "node:timers/promises";
import type { RecordedRequest, Reply } from "../model-server/script.ts";
import { checkRequests, compactionScene, compactionsOf, filler, isSummary, marksIn, run, textIn } from "../e2e/compaction.ts";
import { jsonLines, log, logSoFar, start, types } from "../e2e/skein.ts";
import { createRandom } from "./random.ts";

const KILLS = Number(process.env["SKEIN_KILLS"] ?? 12);
const SEED = Number(process.env["SKEIN_SEED"] ?? Date.now() % 1_000_000);
const WINDOW = 12_000;
const ABOUT = `seed ${SEED}`;

it(`at ${KILLS} random moments of compactions`, async () => {
  const random = createRandom(SEED);
  let answers = 0;
  const script = (request: RecordedRequest): Reply => {
    if (isSummary(request)) return { text: [`Summary ${request.n}. `, ...Array.from({ length: 10 }, (_, n) => `word${n} `)], slowMs: Math.floor(random() * 25), noUsage: true };
    return { text: filler(`mark-2-${answers++}`, 2600), noUsage: true };
  };
  const { server, world } = await compactionScene(script, { config: [`model_context_window = ${WINDOW}`], compact: [`prepare = ${random() < 0.5}`] });
  const first = await run(world, ["exec", "--json", "prompt"]);
  const thread = String(jsonLines(first.stdout)[0]!["thread_id"]);
  const compactions = () => logSoFar(world, thread).filter(({ type }) => type === "history.compacted").length;

  let kills = 0;
  for (let round = 0; kills < KILLS; round++) {
    const asked = server.requests.length;
    const before = compactions();
    const running = start(world, ["exec", "--json", "resume", thread, `prompt ${round}`], { bare: true });
    const over = running.done.then(() => true, () => true);
    const isOver = { now: false };
    void over.then(() => (isOver.now = true));
    const after = random() < 0.6 ? () => server.requests.slice(asked).some(isSummary) : () => compactions() > before;
    while (!isOver.now && !after()) await delay(2);
    await Promise.race([delay(random() ** 2 * 200), over]);
    running.child.kill("SIGKILL");
    const { code, signal, stderr } = await running.done;
    if (signal === "SIGKILL") kills += 1;
    else expect(code, `${ABOUT}, round ${round}: ${stderr}`).toBe(0);
  }
  const last = await run(world, ["exec", "--json", "resume", thread, "the last"]);
  expect(last.code, `${ABOUT}: ${last.stderr}`).toBe(0);
  expect(log(world, thread).at(-2), ABOUT).toMatchObject({ type: "turn.ended", status: "completed" });

  checkRequests(server, WINDOW);
  const records = log(world, thread);
  expect(records.map(({ seq }) => seq), ABOUT).toEqual([...records.keys()]);
  // What the model said, as the log has it, with texts that were cut off by a kill.
  const said = marksIn(JSON.stringify(records.filter(({ type }) => type === "item.added").slice(0, -1)));
  const covered = (request: RecordedRequest): string[] => {
    const text = textIn(request);
    const shown = [...new Set(text.match(/(?<=Summary )\d+(?=\.)/gu))].map((n) => server.requests[Number(n)]!);
    return [...marksIn(text), ...shown.flatMap(covered)];
  };
  const request = server.requests.findLast((each) => !isSummary(each))!;
  const here = new Set(covered(request));
  expect(said.filter((mark) => !here.has(mark)), ABOUT).toEqual([]);
  const prompts = records.filter(({ type }) => type === "input.queued").map(({ items }) => (items as { content: { text: string }[] }[])[0]!.content[0]!.text);
  expect(prompts.filter((prompt) => !textIn(request).includes(prompt)), ABOUT).toEqual([]);
  expect(textIn(request).match(/Previous conversation summary:/gu), ABOUT).toHaveLength(1);
  for (const { tokens } of compactionsOf(world, thread)) expect(tokens.after, ABOUT).toBeLessThanOrEqual(WINDOW * 0.7);
  console.info(`${kills} kills (seed ${SEED}): ${server.requests.length} requests, ${compactionsOf(world, thread).length} compactions, ${types(records).length} records`);
}, 30_000 + KILLS * 5000);
