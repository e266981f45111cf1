// Starts the scripted model server by hand. Node 20 cannot run TypeScript, so it is bundled first, which takes some milliseconds.
import { mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const source = fileURLToPath(new URL("./cli.ts", import.meta.url));
const cache = join(dirname(source), "../../node_modules/.cache/model-server");
const bundle = join(cache, "cli.mjs");
const fresh = join(cache, `cli-${process.pid}.mjs`);

mkdirSync(cache, { recursive: true });
await build({ entryPoints: [source], outfile: fresh, bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "warning" });
renameSync(fresh, bundle);

const { main } = await import(pathToFileURL(bundle).href);
const code = await main(process.argv.slice(2));
if (code !== null) process.exitCode = code;
