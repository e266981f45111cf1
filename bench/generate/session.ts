/** One session in a home: log, blobs, forks and derived files, of about so many bytes of log. */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import type { BlobRef, Draft, Position, Settings, Source, ThreadId } from "../../src/protocol/record.ts";
import { stateFile, summaryOf } from "../../src/core/derived.ts";
import { fromCarry, carryOf, type State } from "../../src/core/state.ts";
import { blobFile, childMarker, filesIn, homeAt, threadFolder, type ThreadFiles } from "../../src/stores/file/layout.ts";
import { LogWriter } from "./log-writer.ts";
import { MIX } from "./mix.ts";
import { createRandom, type Random } from "./random.ts";
import { createTalk, type BlobKind, type Counts, type KeepBlob, type Talk } from "./talk.ts";
import { textPools } from "./text.ts";

export interface Wish {
  home: string;
  /** Of the log; what is made is somewhat more. */
  bytes: number;
  seed: number;
  /** When it was created, in milliseconds. */
  at?: number;
  source?: Source;
  settings?: Partial<Settings>;
  title?: string;
  /** A short one among many: no blobs, no forks, and it ends where it ends. */
  small?: boolean;
}

export interface Made {
  thread: ThreadId;
  log: string;
  bytes: number;
  head: number;
  records: number;
  counts: Counts;
  forks: ThreadId[];
  blobBytes: number;
}

const SETTINGS: Settings = { model: "gpt-5.2-codex", model_provider: "openai", cwd: "/home/me/code/skein", approval_policy: "on-request", sandbox_mode: "workspace-write" };
const START = Date.UTC(2026, 0, 31, 9);

export function makeSession(wish: Wish): Made {
  const random = createRandom(wish.seed);
  const at = wish.at ?? START;
  const thread = threadIdAt(at, random);
  const settings: Settings = { ...SETTINGS, ...wish.settings };
  const files = folderFor(wish.home, thread);
  const first: Draft = { type: "thread.created", id: thread, base: null, source: wish.source ?? "interactive", settings };
  const log = new LogWriter({ path: files.log, thread, first, at });
  log.push({ type: "writer.opened", epoch: 1, pid: 4711, host: "workstation" });
  const blobs = wish.small ? noBlobs() : createBlobs(files, random);
  const talk = createTalk({ log, random, pools: textPools(), keep: blobs.keep, topic: wish.title ?? `Session ${random.hex(8)}`, rounds: wish.small ? MIX.roundsOfSmall : MIX.rounds });
  const forks: ThreadId[] = [];
  if (wish.small) do talk.turn(); while (log.bytes < wish.bytes);
  else converse(wish, { log, talk, random, forks });
  log.push({ type: "writer.closed" });
  log.close();
  writeDerived(files, log.state);
  return { thread, log: files.log, bytes: log.bytes, head: log.head, records: log.records, counts: talk.counts, forks, blobBytes: blobs.bytes() };
}

/** Until the log is long enough and the next compaction is near. */
function converse(wish: Wish, { log, talk, random, forks }: { log: LogWriter; talk: Talk; random: Random; forks: ThreadId[] }): void {
  for (let turns = 1; ; turns++) {
    talk.turn();
    if (talk.tokens >= MIX.compactAtTokens) talk.compact();
    else if (log.bytes >= wish.bytes && talk.tokens >= MIX.compactAtTokens * 0.93) return;
    if (turns % MIX.resumeEvery === 0) talk.newWriter();
    if (turns % MIX.rewindEvery === 0) talk.rewind();
    if (forks.length < MIX.mostForks && log.bytes > (forks.length + 1) * MIX.bytesPerFork) forks.push(makeFork(wish.home, log, random));
  }
}

function makeFork(home: string, parent: LogWriter, random: Random): ThreadId {
  const thread = threadIdAt(parent.now, random);
  const position: Position = { thread: parent.thread, before: parent.head };
  const files = folderFor(home, thread);
  const marker = childMarker(filesIn(threadFolder(homeAt(home).sessions, parent.thread)), thread);
  mkdirSync(filesIn(threadFolder(homeAt(home).sessions, parent.thread)).children, { recursive: true, mode: 0o700 });
  writeFileSync(marker, "", { mode: 0o600 });
  const first: Draft = { type: "thread.created", id: thread, base: position, source: "interactive", settings: parent.state.thread.settings };
  const state = fromCarry(carryOf(parent.state), parent.head);
  const log = new LogWriter({ path: files.log, thread, first, at: parent.now, base: { position, state } });
  log.push({ type: "writer.opened", epoch: 1, pid: 4712, host: "workstation" });
  const talk = createTalk({ log, random, pools: textPools(), keep: noBlobs().keep, topic: "A fork", rounds: MIX.rounds });
  for (let turns = 0; turns < MIX.forkTurns; turns++) talk.turn();
  log.push({ type: "writer.closed" });
  log.close();
  writeDerived(files, log.state);
  return thread;
}

function folderFor(home: string, thread: ThreadId): ThreadFiles {
  const files = filesIn(threadFolder(homeAt(home).sessions, thread));
  mkdirSync(files.folder, { recursive: true, mode: 0o700 });
  writeFileSync(files.lock, "", { mode: 0o600 });
  return files;
}

function writeDerived(files: ThreadFiles, state: State): void {
  writeFileSync(files.metadata, `${JSON.stringify(summaryOf(state), null, 2)}\n`, { mode: 0o600 });
  writeFileSync(files.state, `${JSON.stringify(stateFile(state), null, 2)}\n`, { mode: 0o600 });
}

/** At most MIX.blobs different ones, made when first asked for. */
function createBlobs(files: ThreadFiles, random: Random): { keep: KeepBlob; bytes: () => number } {
  const kept = new Map<BlobKind, BlobRef[]>();
  let total = 0;
  mkdirSync(files.blobs, { mode: 0o700 });
  return {
    bytes: () => total,
    keep(kind, bytes) {
      const refs = kept.get(kind) ?? [];
      kept.set(kind, refs);
      if (refs.length >= MIX.blobs / 4) return refs[random.whole(0, refs.length)]!;
      const content = contentOf(kind, bytes, random);
      const ref = { sha256: createHash("sha256").update(content).digest("hex"), bytes: content.length };
      writeFileSync(blobFile(files, ref.sha256), content, { mode: 0o600 });
      total += content.length;
      refs.push(ref);
      return ref;
    },
  };
}

function contentOf(kind: BlobKind, bytes: number, random: Random): Buffer {
  const pools = textPools();
  if (kind === "image") return Buffer.from(pools.base64(bytes, random), "base64");
  if (kind === "tools") return Buffer.from(JSON.stringify([{ name: "exec_command", description: pools.prose(bytes, random), parameters: {} }]));
  return Buffer.from(kind === "instructions" ? pools.prose(bytes, random) : pools.output(bytes, random));
}

function noBlobs(): { keep: KeepBlob; bytes: () => number } {
  return { keep: () => null, bytes: () => 0 };
}

/** A UUID of version 7 for that time. */
function threadIdAt(at: number, random: Random): ThreadId {
  const time = at.toString(16).padStart(12, "0");
  const variant = (8 + random.whole(0, 4)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.hex(3)}-${variant}${random.hex(3)}-${random.hex(12)}`;
}
