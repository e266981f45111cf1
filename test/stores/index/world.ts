/** Sessions on disk, whatever happens to them and to the index, and what a list must say of them. */
import assert from "node:assert/strict";
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { mark } from "../../../src/stores/file/index/marks.ts";
import { matches, parseQuery } from "../../../src/stores/file/index/words.ts";
import { homeAt } from "../../../src/stores/file/layout.ts";
import type { ListQuery, ThreadSummary } from "../../../src/protocol/library.ts";
import type { Source, ThreadId } from "../../../src/protocol/record.ts";
import { indexOf, removeHome, temporaryHome, type TestIndex } from "./indexing.ts";
import { appendDrafts, folderOf, idAt, makeSession, removeSession, said, summaryOf, writeSummary, type SessionShape } from "./sessions.ts";

interface Session {
  shape: SessionShape;
  archived: boolean;
  hidden: boolean;
  texts: string[];
  seq: number;
}

const SPOKEN = ["deploy to production", "the parser fails", "nothing special"];

export class World {
  readonly home = temporaryHome();
  readonly index: TestIndex = indexOf(this.home);
  readonly sessions = new Map<ThreadId, Session>();
  #clock = Date.now() - 86_400_000;
  #made = 0;

  constructor() {
    for (const folder of ["sessions", "archive"]) mkdirSync(join(this.home, folder));
  }

  /** Changes lie in the past, each at a time of its own, so that no pass has to wait for the grain of the clock. */
  #age(...paths: string[]): void {
    for (const path of [...paths, join(this.home, "sessions"), join(this.home, "archive")]) {
      this.#clock += 1000;
      if (existsSync(path)) utimesSync(path, this.#clock / 1000, this.#clock / 1000);
    }
  }

  #aged(id: ThreadId, { archived }: { archived: boolean }): void {
    const folder = folderOf(this.home, id, { archived });
    this.#age(join(folder, "rollout.jsonl"), join(folder, "metadata.json"));
  }

  #touched(id: ThreadId): void {
    mark(homeAt(this.home), id);
  }

  create({ title, source, provider, cwd, near, archived }: { title: string | null; source: Source; provider: string; cwd: string; near: boolean; archived: boolean }): void {
    this.#made += 1;
    const id = idAt(1_750_000_000_000 + (near ? 0 : this.#made * 5000), this.#made * 7919);
    const spoken = SPOKEN[this.#made % SPOKEN.length]!;
    const shape: SessionShape = { id, title, preview: this.#made % 2 ? "Preview of the fix" : null, source, provider, cwd, drafts: [said(spoken)] };
    makeSession(this.home, shape, { archived });
    this.#aged(id, { archived });
    this.sessions.set(id, { shape, archived, hidden: false, texts: [spoken], seq: 4 });
    this.#touched(id);
  }

  #pick(which: number): Session | null {
    const shown = [...this.sessions.values()].filter(({ hidden }) => !hidden);
    return shown.length === 0 ? null : shown[which % shown.length]!;
  }

  describe(which: number, change: Partial<SessionShape>): void {
    const session = this.#pick(which);
    if (!session) return;
    Object.assign(session.shape, change);
    writeSummary(folderOf(this.home, session.shape.id, session), session.shape);
    this.#aged(session.shape.id, session);
    this.#touched(session.shape.id);
  }

  say(which: number, text: string): void {
    const session = this.#pick(which);
    if (!session) return;
    const { id } = session.shape;
    appendDrafts(folderOf(this.home, id, session), { id, seq: session.seq, drafts: [{ type: "writer.opened", epoch: 2, pid: 1, host: "h" }, said(text), { type: "writer.closed" }] });
    session.seq += 3;
    session.texts.push(text);
    this.#aged(id, session);
    this.#touched(id);
  }

  remove(which: number): void {
    const session = this.#pick(which);
    if (!session) return;
    removeSession(this.home, session.shape.id);
    this.sessions.delete(session.shape.id);
    this.#age();
    this.#touched(session.shape.id);
  }

  move(which: number): void {
    const session = this.#pick(which);
    if (!session) return;
    const { id } = session.shape;
    renameSync(folderOf(this.home, id, session), folderOf(this.home, id, { archived: !session.archived }));
    session.archived = !session.archived;
    this.#age();
    this.#touched(id);
  }

  hide(which: number): void {
    const session = this.#pick(which);
    if (!session) return;
    writeFileSync(join(folderOf(this.home, session.shape.id, session), "hidden"), "");
    session.hidden = true;
    this.#touched(session.shape.id);
  }

  litter(): void {
    for (const name of [".pending", ".trash", "no id!"]) mkdirSync(join(this.home, "sessions", name), { recursive: true });
    this.#age();
  }

  #indexFiles(): string[] {
    return readdirSync(this.home).filter((name) => name.startsWith("index.sqlite"));
  }

  deleteIndex(): void {
    for (const name of this.#indexFiles()) rmSync(join(this.home, name));
  }

  damageIndex(where: number, fill: number): void {
    this.index.close();
    const path = join(this.home, "index.sqlite");
    if (!existsSync(path) || statSync(path).size === 0) return;
    if (where % 7 === 0) return truncateSync(path, Math.floor(statSync(path).size * ((where % 11) / 11)));
    const pages = Math.ceil(statSync(path).size / 4096);
    const fd = openSync(path, "r+");
    for (let page = where % 3; page < pages; page += 3) writeSync(fd, Buffer.alloc(4096, fill), 0, 4096, page * 4096);
    closeSync(fd);
  }

  flipByte(where: number, fill: number): void {
    this.index.close();
    const path = join(this.home, "index.sqlite");
    if (!existsSync(path) || statSync(path).size === 0) return;
    const fd = openSync(path, "r+");
    writeSync(fd, Buffer.alloc(1, fill), 0, 1, where % statSync(path).size);
    closeSync(fd);
  }

  #copies = 0;
  keepCopy(): void {
    this.index.close();
    this.#copies += 1;
    if (existsSync(join(this.home, "index.sqlite"))) copyFileSync(join(this.home, "index.sqlite"), join(this.home, `copy-${this.#copies}`));
  }

  restoreCopy(which: number): void {
    const copy = join(this.home, `copy-${1 + (which % Math.max(1, this.#copies))}`);
    if (!existsSync(copy)) return;
    this.index.close();
    this.deleteIndex();
    copyFileSync(copy, join(this.home, "index.sqlite"));
  }

  /** A worker died with what it had claimed. */
  leaveClaims(): void {
    const dirty = join(this.home, "dirty");
    for (const name of existsSync(dirty) ? readdirSync(dirty) : []) {
      if (!name.startsWith(".") && !name.endsWith("~")) renameSync(join(dirty, name), join(dirty, `${name}~`));
    }
  }

  expected({ source, provider, cwd, archived = false, text }: ListQuery): ThreadSummary[] {
    const phrases = text === undefined ? null : parseQuery(text);
    return [...this.sessions.values()]
      .filter((session) => !session.hidden && session.archived === archived)
      .filter(({ shape }) => !source || source.includes(shape.source!))
      .filter(({ shape }) => !provider || provider.includes(shape.provider!))
      .filter(({ shape }) => cwd === undefined || shape.cwd === cwd)
      .filter(({ shape, texts }) => !phrases || (phrases.length > 0 && [shape.title, shape.preview, ...texts].some((each) => each && matches(each, phrases))))
      .map(({ shape }) => summaryOf(shape))
      .toSorted((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** Compares every page of the query with what it should be. True when all said that they are complete. */
  check(query: ListQuery): boolean {
    const expected = this.expected(query);
    const listed: ThreadSummary[] = [];
    let complete = true;
    for (let cursor: string | null = null; ; ) {
      const page = this.index.list({ ...query, cursor });
      assert.ok(page.items.length <= (query.limit ?? 50));
      listed.push(...page.items);
      complete &&= !page.incomplete;
      if (!page.incomplete && page.next !== null) assert.equal(page.items.at(-1)!.id, page.next);
      cursor = page.next;
      if (cursor === null) break;
    }
    assert.deepEqual(listed, complete ? expected : expected.filter(({ id }) => listed.some((item) => item.id === id)));
    return complete;
  }

  end(): void {
    this.index.close();
    removeHome(this.home);
  }
}
