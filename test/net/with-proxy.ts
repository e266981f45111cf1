/** A real proxy, as a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Proxy {
  url: string;
  seen: { method: string; target: string; authorized: boolean }[];
}

export async function withProxy<T>(upstream: number, credentials: string | null, use: (proxy: Proxy) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./proxy-process.mjs", import.meta.url)), String(upstream), ...(credentials === null ? [] : [credentials])], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: child.stdout });
    const [port] = (await once(lines, "line")) as [string];
    const proxy: Proxy = { url: `http://127.0.0.1:${port}`, seen: [] };
    lines.on("line", (line) => proxy.seen.push(JSON.parse(line) as Proxy["seen"][number]));
    return await use(proxy);
  } finally {
    child.kill();
  }
}
