// What the tooling is doing goes to stderr: stdout belongs to the command that was asked for.

/** @param {string} line */
export function say(line) {
  process.stderr.write(`skein: ${line}\n`);
}
