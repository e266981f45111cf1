/**
 * SQLite: Node's own where it exists and can do what the index needs, else the package with the same API. Null where neither
 * can be loaded: then there is no index, and everything that can be is read from the folders.
 */
export type Value = string | number | null;
export type Row = Record<string, Value>;

export interface Statement {
  run(...values: Value[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...values: Value[]): Row | undefined;
  all(...values: Value[]): Row[];
  iterate(...values: Value[]): IterableIterator<Row>;
}
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}
export interface Sqlite {
  open(path: string, options?: { readOnly?: boolean }): Database;
}

interface Driver {
  DatabaseSync: new (path: string, options?: { readOnly?: boolean }) => Database;
}

let loaded: Promise<Sqlite | null> | null = null;

export function loadSqlite(): Promise<Sqlite | null> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Sqlite | null> {
  return usable(ownDriver()) ?? usable(await packagedDriver());
}

function ownDriver(): Driver | undefined {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule("node:sqlite") as unknown as Driver | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

async function packagedDriver(): Promise<Driver | undefined> {
  try {
    return (await import("@photostructure/sqlite")) as unknown as Driver;
  } catch {
    return undefined;
  }
}

function usable(driver: Driver | undefined): Sqlite | null {
  if (!driver) return null;
  const { DatabaseSync } = driver;
  try {
    const db = new DatabaseSync(":memory:");
    db.exec("CREATE VIRTUAL TABLE probe USING fts5(text, content='', contentless_delete=1)");
    for (const _ of db.prepare("SELECT rowid FROM probe").iterate()) break;
    db.close();
  } catch {
    return null;
  }
  return { open: (path, options = {}) => new DatabaseSync(path, options) };
}

/** Trouble with the medium or with other processes: another file would fare no better. The package gives no code with some errors. */
const ELSEWHERE = /locked|busy|out of memory|readonly|read-only|I\/O error|full|unable to open|not authorized/iu;

/** The file is damaged, or is not what it should be: throwing it away helps. */
export function isCorruption(error: unknown): boolean {
  if (error instanceof DamagedIndex) return true;
  return error instanceof Error && (error as { code?: unknown }).code === "ERR_SQLITE_ERROR" && !ELSEWHERE.test(error.message);
}

/** Found out by the index itself. */
export class DamagedIndex extends Error {}
