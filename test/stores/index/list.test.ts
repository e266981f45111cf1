/**
 * A list is what the folders say, whatever state the index is in: random histories of sessions and of index files, against a model
 * that knows only the sessions.
 */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mark } from "../../../src/stores/file/index/marks.ts";
import { homeAt } from "../../../src/stores/file/layout.ts";
import type { ListQuery, ThreadSummary } from "../../../src/protocol/library.ts";
import type { Source } from "../../../src/protocol/record.ts";
import { runs } from "./indexing.ts";
import { folderOf, idAt, makeSession, summaryOf, writeSummary } from "./sessions.ts";
import { World } from "./world.ts";

const TITLES = [null, "Fix the parser", "parse error", "Über Größe", "検索の話"];
const TEXTS = ["parser", "grosse", "GRÖSSE über", "検索", "deploy", "err", "the fix", "!!"];
const SPOKEN = ["deploy now", "the parser works", "über alles"];
const SOURCES: Source[] = ["exec", "interactive", "mcp"];
const PROVIDERS = ["openai", "anthropic"];
const CWDS = ["/a", "/b"];

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 });
const anyQuery = fc.record<ListQuery>({
  limit: fc.integer({ min: 1, max: 6 }),
  archived: fc.boolean(),
  source: optional(fc.subarray(SOURCES)) as fc.Arbitrary<Source[]>,
  provider: optional(fc.subarray(PROVIDERS)) as fc.Arbitrary<string[]>,
  cwd: optional(fc.constantFrom(...CWDS)) as fc.Arbitrary<string>,
  text: optional(fc.constantFrom(...TEXTS)) as fc.Arbitrary<string>,
});
const isFiltered = ({ source, provider, cwd, text }: ListQuery) => [source, provider, cwd, text].some((value) => value !== undefined);

type Step = (world: World) => void;
/** Shown in a counterexample as it reads here. */
const step = <T>(arbitrary: fc.Arbitrary<T>, run: (world: World, value: T) => void): fc.Arbitrary<Step> =>
  arbitrary.map((value) => Object.assign((world: World) => run(world, value), { [fc.toStringMethod]: () => `${String(run)} with ${fc.stringify(value)}` }));
const nothing = fc.constant(null);
const which = fc.nat(1000);
const sessionSteps: fc.WeightedArbitrary<Step>[] = [
  {
    weight: 8,
    arbitrary: step(
      fc.record({ title: fc.constantFrom(...TITLES), source: fc.constantFrom(...SOURCES), provider: fc.constantFrom(...PROVIDERS), cwd: fc.constantFrom(...CWDS), near: fc.boolean(), archived: fc.boolean() }),
      (world, made) => world.create(made),
    ),
  },
  { weight: 2, arbitrary: step(fc.tuple(which, fc.constantFrom(...TITLES)), (world, [at, title]) => world.describe(at, { title })) },
  { weight: 1, arbitrary: step(fc.tuple(which, fc.constantFrom(...CWDS)), (world, [at, cwd]) => world.describe(at, { cwd })) },
  { weight: 1, arbitrary: step(fc.tuple(which, fc.constantFrom(...PROVIDERS)), (world, [at, provider]) => world.describe(at, { provider })) },
  { weight: 2, arbitrary: step(fc.tuple(which, fc.constantFrom(...SPOKEN)), (world, [at, text]) => world.say(at, text)) },
  { weight: 1, arbitrary: step(which, (world, at) => world.remove(at)) },
  { weight: 1, arbitrary: step(which, (world, at) => world.move(at)) },
  { weight: 1, arbitrary: step(which, (world, at) => world.hide(at)) },
  { weight: 1, arbitrary: step(nothing, (world) => world.litter()) },
];
const indexSteps: fc.WeightedArbitrary<Step>[] = [
  { weight: 4, arbitrary: step(nothing, (world) => void world.index.pass()) },
  { weight: 3, arbitrary: step(fc.integer({ min: 1, max: 30 }), (world, stopAt) => void world.index.pass({ stopAt })) },
  { weight: 1, arbitrary: step(nothing, (world) => world.deleteIndex()) },
  { weight: 2, arbitrary: step(fc.tuple(fc.nat(10_000), fc.constantFrom(0, 0xff, 0x41)), (world, [at, fill]) => world.damageIndex(at, fill)) },
  { weight: 1, arbitrary: step(nothing, (world) => world.keepCopy()) },
  { weight: 1, arbitrary: step(which, (world, at) => world.restoreCopy(at)) },
  { weight: 1, arbitrary: step(nothing, (world) => world.leaveClaims()) },
];

describe("list, against the model", () => {
  test("any history of sessions and of the index: every page is right, or says that it is incomplete; an unfiltered one is right", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(...sessionSteps, ...indexSteps), { minLength: 4, maxLength: 30 }), fc.array(anyQuery, { minLength: 1, maxLength: 4 }), (steps, queries) => {
        const world = new World();
        try {
          for (const take of steps) take(world);
          for (const query of queries) {
            const complete = world.check(query);
            if (!isFiltered(query)) expect(complete).toBe(true);
          }
          expect(world.check({ limit: 3 })).toBe(true);
          expect(world.check({ limit: 3, archived: true })).toBe(true);
          expect(world.index.pass({ need: world.index.list().need })).toBe("complete");
          for (const query of queries) expect(world.check(query)).toBe(true);
        } finally {
          world.end();
        }
      }),
      runs(60),
    );
  });

  test("one changed byte anywhere in the index never shows in a summary", () => {
    const world = new World();
    try {
      for (let made = 0; made < 12; made++) world.create({ title: TITLES[made % TITLES.length]!, source: "exec", provider: "openai", cwd: "/a", near: false, archived: false });
      world.index.pass();
      world.keepCopy();
      const size = statSync(join(world.home, "index.sqlite")).size;
      fc.assert(
        fc.property(fc.nat(size - 1), fc.nat(255), (where, fill) => {
          world.restoreCopy(0);
          world.flipByte(where, fill);
          const expected = new Map(world.expected({}).map((summary) => [summary.id, summary]));
          for (const summary of world.index.list().items) expect(summary).toEqual(expected.get(summary.id));
        }),
        runs(300),
      );
    } finally {
      world.end();
    }
  });
});

describe("list", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.end());

  const fill = (count: number) => {
    for (let made = 0; made < count; made++) world.create({ title: `Session ${made}`, source: "exec", provider: "openai", cwd: "/a", near: false, archived: false });
  };

  test("a cursor stays where it was while sessions arrive and go", () => {
    fill(10);
    world.index.pass();
    const first = world.index.list({ limit: 4 });
    const rest = world.expected({}).slice(4);
    fill(3);
    expect(world.index.list({ limit: 50, cursor: first.next }).items).toEqual(rest);
    world.index.pass();
    expect(world.index.list({ limit: 50, cursor: first.next }).items).toEqual(rest);
    world.remove(3);
    expect(world.index.list({ limit: 50, cursor: first.next }).items).toEqual(world.expected({}).filter(({ id }) => id < first.next!));
  });

  test("the last full page has no cursor", () => {
    fill(6);
    world.index.pass();
    const first = world.index.list({ limit: 3 });
    expect(world.index.list({ limit: 3, cursor: first.next }).next).toBeNull();
  });

  test.each([
    [undefined, 50],
    [0, 1],
    [-5, 1],
    [2.9, 2],
    [1_000_000, 60],
  ])("limit %s gives %s", (limit, count) => {
    fill(60);
    expect(world.index.list(limit === undefined ? {} : { limit }).items).toHaveLength(count);
  });

  test("a session whose folder is gone is not shown, although the index has it", () => {
    fill(3);
    world.index.pass();
    const [gone] = world.expected({});
    rmSync(folderOf(world.home, gone!.id), { recursive: true });
    expect(world.index.list().items).toEqual(world.expected({}).slice(1));
  });

  test("a change without a mark shows in an unfiltered list at once, and in a filtered one after that or after a sweep", () => {
    fill(3);
    world.index.pass();
    const [{ id }] = world.expected({}) as [ThreadSummary];
    const changed = { ...world.sessions.get(id)!.shape, title: "unmarked words", cwd: "/b" };
    writeSummary(folderOf(world.home, id), changed);
    expect(world.index.list({ cwd: "/b" }).items).toEqual([]);
    world.index.pass({ need: "sweep" });
    expect(world.index.list({ cwd: "/b" }).items).toEqual([summaryOf(changed)]);
    writeSummary(folderOf(world.home, id), { ...changed, cwd: "/c" });
    expect(world.index.list().items[0]).toEqual(summaryOf({ ...changed, cwd: "/c" }));
    expect(world.index.list({ cwd: "/c" }).items).toEqual([summaryOf({ ...changed, cwd: "/c" })]);
  });

  test("without an index a filtered list looks at the newest 500 folders, says so, and its cursor goes on", () => {
    for (let made = 0; made < 505; made++) makeSession(world.home, { id: idAt(1_750_000_000_000 + made * 5000), cwd: made < 3 || made > 503 ? "/rare" : "/a" });
    const first = world.index.list({ cwd: "/rare" });
    expect(first.items).toHaveLength(1);
    expect(first.incomplete).toBe(true);
    const second = world.index.list({ cwd: "/rare", cursor: first.next });
    expect(second.items).toHaveLength(3);
    expect([second.next, second.incomplete]).toEqual([null, false]);
  });

  test("more marks than can be looked at make a filtered list incomplete, not wrong", () => {
    fill(3);
    world.index.pass();
    for (let made = 0; made < 600; made++) mark(homeAt(world.home), idAt(1_700_000_000_000 + made));
    const page = world.index.list({ cwd: "/a" });
    expect(page.items).toEqual(world.expected({ cwd: "/a" }));
    expect(page.incomplete).toBe(true);
    expect(world.index.list().incomplete).toBe(false);
  });

  test("a home without sessions is an empty page", () => {
    rmSync(join(world.home, "sessions"), { recursive: true });
    expect(world.index.list()).toMatchObject({ items: [], next: null, incomplete: false });
    expect(world.index.pass()).toBe("complete");
    expect(world.index.list({ text: "x" })).toMatchObject({ items: [], next: null, incomplete: false });
  });

  test("a session without metadata.json is listed by its log", () => {
    fill(1);
    const [{ id }] = world.expected({}) as [ThreadSummary];
    rmSync(join(folderOf(world.home, id), "metadata.json"));
    expect(world.index.list().items.map((item) => item.id)).toEqual([id]);
    world.index.pass();
    expect(world.index.list().items.map((item) => [item.id, item.cwd])).toEqual([[id, "/a"]]);
  });
});
