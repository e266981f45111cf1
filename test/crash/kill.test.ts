import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bundled } from "../stores/bundle.ts";
import { killWriters } from "./kills.ts";

it("a writer killed at any moment loses nothing that it acknowledged", async () => {
  const home = mkdtempSync(join(tmpdir(), "skein-kill-"));
  try {
    const result = await killWriters({ program: await bundled("test/crash/programs/writer.ts"), home, kills: 200, seed: 7 });
    expect(result.failures).toEqual([]);
    expect(result).toMatchObject({ kills: 200 });
    expect(result.midWrite).toBeGreaterThan(0);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}, 300_000);
