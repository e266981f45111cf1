// Loaded before everything else in a process and its threads (NODE_OPTIONS=--require): a line in $SKEIN_TEST_TRACE for each name looked up,
// each connection, each datagram and each process started. Whatever a library does, it goes through these.
const { appendFileSync } = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const { isMainThread } = require("node:worker_threads");
const childProcess = require("node:child_process");
const dgram = require("node:dgram");
const dns = require("node:dns");
const net = require("node:net");

const file = process.env.SKEIN_TEST_TRACE ?? "/dev/null";
/** @param {string} what @param {string} to */
const tell = (what, to) => appendFileSync(file, `${JSON.stringify({ what, to, thread: isMainThread ? "main" : "other" })}\n`);

/** @param {any} object @param {string} name @param {(args: any[]) => void} describe */
function wrap(object, name, describe) {
  const original = object[name];
  object[name] = /** @this {unknown} @param {any[]} args */ function wrapped(...args) {
    describe(args);
    return original.apply(this, args);
  };
}

tell("loaded", process.argv.slice(2).join(" "));
wrap(net.Socket.prototype, "connect", ([first, second]) => {
  const options = Array.isArray(first) ? first[0] : first;
  if (typeof options === "object" && options !== null) tell("connect", options.path ?? `${options.host ?? "localhost"}:${options.port}`);
  else tell("connect", typeof options === "string" && Number.isNaN(Number(options)) ? options : `${typeof second === "string" ? second : "localhost"}:${options}`);
});
wrap(dgram.Socket.prototype, "send", (args) => tell("datagram", String(args.at(-2))));
wrap(dgram.Socket.prototype, "connect", (args) => tell("datagram", String(args[1] ?? args[0])));
for (const names of /** @type {any[]} */ ([dns, dns.promises])) {
  for (const name of Object.keys(names)) if (/^(?:lookup|resolve|reverse)/.test(name) && typeof names[name] === "function") wrap(names, name, ([host]) => tell("name", String(host)));
}
wrap(childProcess.ChildProcess.prototype, "spawn", ([{ file: program }]) => tell("process", program));
for (const name of ["spawnSync", "execFileSync", "execSync"]) wrap(childProcess, name, ([program]) => tell("process", program));
syncBuiltinESMExports();
