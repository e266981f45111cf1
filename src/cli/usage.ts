/** `skein usage`: what was used and what it cost, by day, model or folder. */
import { resolve } from "node:path";
import type { UsageQuery } from "../protocol/usage.ts";
import { EXIT, UserError, type Shell } from "./shell.ts";
import { groupsOf, usageText, WAYS, type By } from "./usage-text.ts";

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

export async function usage(values: Values, shell: Shell): Promise<number> {
  const by = values["by"] ?? "day";
  if (!WAYS.includes(by as By)) throw new UserError(`--by takes ${WAYS.join(", ")}; not "${String(by)}".`, EXIT.usage);
  const query: UsageQuery = {};
  if (typeof values["since"] === "string") query.since = dayOf(values["since"]);
  if (typeof values["cwd"] === "string") query.cwd = resolve(shell.cwd, values["cwd"]);
  const connected = await shell.connect({ mode: "read", overrides: [] });
  try {
    const { rows, incomplete } = await connected.client.call("usage/read", query);
    if (values["json"]) for (const group of groupsOf(rows, by as By)) shell.stdout.write(`${JSON.stringify(group)}\n`);
    else shell.stdout.write(usageText(rows, by as By));
    if (incomplete) shell.stderr.write("The index is being rebuilt: there may be more.\n");
    return EXIT.done;
  } finally {
    await connected.close();
  }
}

/** The 31st of February is read as one in March. */
function isDay(date: string): boolean {
  const time = Date.parse(date);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}

const DAY_MS = 86_400_000;

/** A date, or `7d`: the last seven days, today included. */
function dayOf(since: string): string {
  const days = /^(\d{1,5})d$/u.exec(since);
  if (days && Number(days[1]) > 0) return new Date(Date.now() - (Number(days[1]) - 1) * DAY_MS).toISOString().slice(0, 10);
  if (/^\d{4}-\d{2}-\d{2}$/u.test(since) && isDay(since)) return since;
  throw new UserError(`--since takes a date such as 2026-01-31, or a number of days such as 7d; not "${since}".`, EXIT.usage);
}
