/**
 * index.sqlite: what it holds, and when it counts.
 *
 * It is derived. One that another version made, that is damaged, or that is something else altogether is thrown away, by the
 * indexer and under its lock only; a reader treats it as missing meanwhile. It is 0600 from its creation, and SQLite gives the
 * -wal and -shm files the mode of the database.
 *
 *   sessions  one row a thread: `summary` is its ThreadSummary, true as long as its folder has the print `print` (look.ts);
 *             `source`, `provider` and `cwd` repeat what lists are filtered by; `sum` is a checksum over all of it.
 *             Full text covers the log `text_file` up to byte `text_at`, and all of it while `text_log` = `log`.
 *   docs      one row an indexed text: where it is. The text itself stays in the log. Its number is explained in rowids.ts.
 *   words     FTS5 over the same numbers: words and where they stand, no text. `completions` are its words in order.
 *   facts     membership: the print of the folders when the rows were last complete; stamp: see marks.ts;
 *             swept: when every row was last compared with its folder.
 */
import { join } from "node:path";
import { errorCode, realFiles } from "../files.ts";
import type { Home } from "../layout.ts";
import { isCorruption, type Database, type Sqlite } from "./sqlite.ts";

const VERSION = 1;
const APPLICATION = 0x736b6e78;

const TABLES = `
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (
  no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, archived INTEGER NOT NULL,
  source TEXT NOT NULL, provider TEXT NOT NULL, cwd TEXT NOT NULL,
  summary TEXT NOT NULL, print TEXT NOT NULL, sum INTEGER NOT NULL,
  log TEXT NOT NULL, text_log TEXT NOT NULL, text_file TEXT NOT NULL, text_at INTEGER NOT NULL
);
CREATE INDEX sessions_all ON sessions (archived, id);
CREATE INDEX sessions_source ON sessions (archived, source, id);
CREATE INDEX sessions_provider ON sessions (archived, provider, id);
CREATE INDEX sessions_cwd ON sessions (archived, cwd, id);
CREATE INDEX sessions_behind ON sessions (id) WHERE text_log <> log;
CREATE TABLE docs (
  no INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL,
  offset INTEGER NOT NULL, bytes INTEGER NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='ascii');
CREATE VIRTUAL TABLE completions USING fts5vocab('words', 'instance');
INSERT INTO words(words, rank) VALUES ('hashsize', 33554432);
PRAGMA application_id = ${APPLICATION};
PRAGMA user_version = ${VERSION};
`;

function indexFile(home: Home): string {
  return join(home.root, "index.sqlite");
}

/** Names the file that is there now, and its state; null when there is none. An inode may be used again, so it is not enough. */
export function filePrint(home: Home): string | null {
  const stat = realFiles.stat(indexFile(home));
  return stat && `${stat.identity}/${stat.size}/${stat.modified}`;
}
/** While a file is open, no other has its identity. */
export function fileIdentity(home: Home): string | null {
  return realFiles.stat(indexFile(home))?.identity ?? null;
}

/** The lock of the indexer: one at a time in a home. Null when another one has it. Closing the database frees it, and so does dying. */
export function lockIndexer(sqlite: Sqlite, home: Home): Database | null {
  const path = join(home.root, "index.lock");
  if (!realFiles.stat(path)) createEmpty(path);
  const lock = sqlite.open(path);
  try {
    lock.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
    return lock;
  } catch {
    lock.close();
    return null;
  }
}

/** Never opens a file that is there: closing it would free the locks that another thread of this process has on it. */
function createEmpty(path: string): void {
  try {
    realFiles.close(realFiles.open(path, "create"));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** For the holder of the lock. */
export function openForWriting(sqlite: Sqlite, home: Home): Database {
  return openExisting(sqlite, home) ?? create(sqlite, home);
}

/** Null when there is none that counts. */
function openExisting(sqlite: Sqlite, home: Home): Database | null {
  if (!realFiles.stat(indexFile(home))) return null;
  let db: Database | null = null;
  try {
    db = sqlite.open(indexFile(home));
    db.exec("PRAGMA busy_timeout = 2000");
    if (isOurs(db)) return tuned(db);
  } catch (error) {
    db?.close();
    if (isCorruption(error) || !db) return null;
    throw error;
  }
  db.close();
  return null;
}

/** In a new file: a process that has the old one open keeps the old one. */
function create(sqlite: Sqlite, home: Home): Database {
  discard(home);
  const path = indexFile(home);
  createEmpty(path);
  const db = sqlite.open(path);
  try {
    db.exec("PRAGMA busy_timeout = 2000; PRAGMA journal_mode = WAL");
    db.exec(`BEGIN IMMEDIATE; ${TABLES} COMMIT`);
    return tuned(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function tuned(db: Database): Database {
  db.exec("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32000; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864");
  return db;
}

function isOurs(db: Database): boolean {
  return db.prepare("PRAGMA application_id").get()?.["application_id"] === APPLICATION && db.prepare("PRAGMA user_version").get()?.["user_version"] === VERSION;
}

/** Null when there is none that counts. Throws where it is damaged. */
export function openForReading(sqlite: Sqlite, home: Home): Database | null {
  const db = sqlite.open(indexFile(home), { readOnly: true });
  try {
    db.exec("PRAGMA busy_timeout = 100; PRAGMA cache_size = -16000");
    if (isOurs(db)) return db;
  } catch (error) {
    db.close();
    throw error;
  }
  db.close();
  return null;
}

/** For the holder of the lock. */
export function discard(home: Home): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) realFiles.removeAll(indexFile(home) + suffix);
}
