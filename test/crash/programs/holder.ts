/** HOME THREAD: opens a thread for writing, says so, appends a record every now and then, and never lets go. */
import { openFileStore } from "../../../src/stores/file/store.ts";

const [home = "", thread = ""] = process.argv.slice(2);
const store = openFileStore({ home, host: "elsewhere", pid: process.pid, socket: "/run/owner.sock", now: () => new Date().toISOString() });
const opened = await store.open(thread);
if (!opened.ok) throw new Error(opened.message);
const { log } = opened;
process.stdout.write("open\n");
setInterval(() => {
  for (let count = 0; count < 5; count++) log.append([{ type: "item.added", id: `i${log.head}`, item: { type: "note", text: "x".repeat(log.head % 5000) } }]);
}, 3);
