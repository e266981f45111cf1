/** What the machine does at best: the numbers that every other one is compared with. */
import { spawnSync } from "node:child_process";
import { closeSync, fdatasync, openSync, readdirSync, readFileSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { median, milliseconds, percentile, repeated } from "./measure.ts";

export interface WriteFloors {
  writeMicroseconds: { p50: number; p99: number };
  syncMilliseconds: { p50: number; p99: number };
}

const KILOBYTE = Buffer.alloc(1000, "x");

export async function writeFloors(folder: string, syncs: number): Promise<WriteFloors> {
  const fd = openSync(join(folder, "floor"), "a", 0o600);
  try {
    const writes: number[] = [];
    for (let count = 0; count < 20_000; count++) {
      const started = performance.now();
      writeSync(fd, KILOBYTE);
      writes.push((performance.now() - started) * 1000);
    }
    const waits: number[] = [];
    for (let count = 0; count < syncs; count++) {
      writeSync(fd, KILOBYTE);
      waits.push(await milliseconds(() => synced(fd)));
    }
    return {
      writeMicroseconds: { p50: percentile(writes, 50), p99: percentile(writes, 99) },
      syncMilliseconds: { p50: percentile(waits, 50), p99: percentile(waits, 99) },
    };
  } finally {
    closeSync(fd);
  }
}

/** Writes of `bytes`, each followed by a sync: what so many durable steps cost whoever makes them. */
export function rawWriter(path: string): { write(wish: { writes: number; bytes: number }): Promise<void>; close(): void } {
  const fd = openSync(path, "a", 0o600);
  return {
    async write({ writes, bytes }) {
      const content = Buffer.alloc(bytes, "x");
      for (let count = 0; count < writes; count++) {
        writeSync(fd, content);
        await synced(fd);
      }
    },
    close: () => closeSync(fd),
  };
}

function synced(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fdatasync(fd, (error) => (error ? reject(error) : resolve())));
}

export interface ReadFloors {
  readCrcMilliseconds: number;
  parseMilliseconds: number;
}

export async function readFloors(path: string, times: number): Promise<ReadFloors> {
  const chunk = Buffer.allocUnsafe(256 * 1024);
  const readCrc = await repeated(times, () => {
    const fd = openSync(path, "r");
    let crc = 0;
    for (let got = readSync(fd, chunk); got > 0; got = readSync(fd, chunk)) crc = crc32(chunk.subarray(0, got), crc);
    closeSync(fd);
    return crc;
  });
  const lines = readFileSync(path, "utf8").trimEnd().split("\n").map(flat);
  const parse = await repeated(times, () => {
    let records = 0;
    for (const line of lines) if (JSON.parse(line) !== null) records += 1;
    return records;
  });
  return { readCrcMilliseconds: median(readCrc), parseMilliseconds: median(parse) };
}

/** A string of its own, not a part of a long one. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}

export async function bareNode(times: number): Promise<{ milliseconds: number; megabytes: number }> {
  const program = "process.stdout.write(String(process.resourceUsage().maxRSS / 1024))";
  let megabytes = 0;
  const samples = await repeated(times, () => {
    megabytes = Number(spawnSync(process.execPath, ["-e", program], { encoding: "utf8" }).stdout);
  });
  return { milliseconds: median(samples), megabytes };
}

export async function listFolder(folder: string, times: number): Promise<number> {
  return median(await repeated(times, () => readdirSync(folder).length));
}
