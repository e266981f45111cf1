/** Runs a program to its end, without standing in the way of a server in this process. */
import { spawn } from "node:child_process";

export function spawnAsync(command: string, words: readonly string[], given: { cwd: string; env: Record<string, string> }): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(command, [...words], { ...given, stdio: ["ignore", "pipe", "pipe"] });
  let stderr = "";
  child.stdout.resume();
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((settle) => child.on("close", (code) => settle({ code, stderr })));
}
