/** `skein doctor`: does what Skein stands on hold? Exit code 1 when something is broken. */
import { EXIT, type Check, type Shell } from "./shell.ts";

const SIGNS: Readonly<Record<Check["state"], string>> = { ok: "ok", warning: "!", broken: "BROKEN" };

export async function doctor({ json }: { json: boolean }, shell: Shell): Promise<number> {
  const checks = await shell.doctor();
  shell.stdout.write(json ? checks.map((check) => `${JSON.stringify(check)}\n`).join("") : told(checks));
  return checks.some(({ state }) => state === "broken") ? EXIT.failed : EXIT.done;
}

function told(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, state, text, remedy }) => [
    `${SIGNS[state].padEnd(6)}  ${name.padEnd(width)}  ${text.replaceAll("\n", `\n${" ".repeat(10 + width)}`)}`,
    ...(remedy === undefined ? [] : [`${" ".repeat(8 + width)}  → ${remedy}`]),
  ]);
  return `${lines.join("\n")}\n`;
}
