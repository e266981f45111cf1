/** What the commands themselves cost: bare Node runs them one after another, nothing else. In milliseconds, of one command. */
import { spawnSync } from "node:child_process";

const SCRIPT = `
  const { spawn } = require("node:child_process");
  const run = (n) => new Promise((done) => spawn("/bin/bash", ["-c", "echo answer-$((1000 + " + n + "))"], { stdio: ["ignore", "pipe", "pipe"] }).on("close", done).stdout.resume());
  (async () => { for (let n = 0; n < Number(process.argv[1]); n++) await run(n); })();
`;

export function commandAlone(count: number): number {
  const time = (commands: number): number => {
    const from = performance.now();
    spawnSync(process.execPath, ["-e", SCRIPT, String(commands)], { stdio: "inherit" });
    return performance.now() - from;
  };
  const floor = time(0);
  return (time(count) - floor) / count;
}
