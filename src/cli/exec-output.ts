/**
 * What exec shows: JSON lines, or text for people (what happens on stderr, the last message on stdout). At most one terminal line is
 * written, and none after it. A reader that went away is told to the run, which then ends; standard error is only ever a courtesy.
 */
import { accessSync, constants, existsSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Writable } from "node:stream";
import type { Event } from "../protocol/event.ts";
import type { Settings, Usage } from "../protocol/record.ts";
import { createLines, isTerminal, type Line } from "./exec-lines.ts";
import { createText, header } from "./exec-text.ts";
import type { Stopped } from "./exec-stop.ts";
import { EXIT, UserError, type Shell } from "./shell.ts";
import { shownOn } from "./terminal.ts";

export interface Output {
  start(thread: string, settings: Settings, usedBefore: Usage): void;
  /** A turn begins; `goesOn`: another follows it in this run, unless it fails. */
  turn(goesOn: boolean): void;
  event(event: Event): void;
  /** Something about this run that is not part of the turn: stderr only. */
  warn(message: string): void;
  /** Something about the thread that whoever reads should know. */
  notice(message: string): void;
  /** The turn is over: `last` is its last message. False when that could not be written where it was asked for. */
  finish(last: string, completed: boolean): Promise<boolean>;
  /** The run cannot go on. The second of these, and one after the turn's own end, is only said on stderr. */
  fail(message: string): void;
  /** Listens to the streams no longer. */
  dispose(): void;
}

interface Given {
  json: boolean;
  quiet: boolean;
  /** `-o`, absolute. */
  lastMessageFile: string | null;
  shell: Shell;
  /** Standard output takes no more. */
  broken(why: Stopped): void;
}

export function createOutput({ json, quiet, lastMessageFile, shell, broken }: Given): Output {
  const { write: saying, dispose: leaveErr } = writerOf(shell.stderr, () => {});
  const say = (text: string): void => void saying(text);
  const { write: out, dispose: leaveOut } = writerOf(shell.stdout, (error) => {
    const why = whyBroken(error);
    if (why.exit !== EXIT.done) say(`skein: ${why.message} The turn is ended; what it did is kept.\n`);
    broken(why);
  });
  let goesOn = false;
  const keep = (last: string, completed: boolean): boolean => {
    if (lastMessageFile === null || (goesOn && completed)) return true;
    try {
      writeFileSync(lastMessageFile, last);
      return true;
    } catch (error) {
      say(`skein: The last message could not be written to ${lastMessageFile} (${codeOf(error)}); the turn itself is kept.\n`);
      return false;
    }
  };
  const dispose = (): void => {
    leaveErr();
    leaveOut();
  };
  // On one and the same terminal the last message stands there already.
  const isShown = !quiet && shell.stdout.isTTY === true && shell.stderr.isTTY === true;
  const describe = createText();
  const turn = (more: boolean): void => void (goesOn = more);
  if (json) return { ...jsonOutput({ out, say, keep, goesOn: () => goesOn }), turn, dispose };
  return {
    turn,
    start: (thread, settings) => void (quiet || say(header(thread, settings))),
    event(event) {
      const text = quiet && event.type !== "turn/failed" && event.type !== "turn/cancelled" ? null : describe(event);
      if (text !== null) say(`${text}\n`);
    },
    warn: (message) => void (quiet || say(`! ${message}\n`)),
    notice: (message) => void (quiet || say(`! ${message}\n`)),
    async finish(last, completed) {
      const written = !completed || last === "" || isShown || (await out(`${last}\n`));
      return keep(last, completed) && written;
    },
    fail: (message) => say(`skein: ${message}\n`),
    dispose,
  };
}

function jsonOutput(given: { out: (text: string) => Promise<boolean>; say: (text: string) => void; keep: (last: string, completed: boolean) => boolean; goesOn: () => boolean }): Omit<Output, "turn" | "dispose"> {
  const { out, say, keep, goesOn } = given;
  let lines = createLines();
  let ended = false;
  const write = (line: Line): void => {
    if (ended) return;
    const shown = line.type === "turn.completed" && goesOn() ? { ...line, type: "turn.ended" } : line;
    ended = isTerminal(shown);
    void out(`${oneLine(JSON.stringify(shown))}\n`);
  };
  return {
    start(thread, settings, usedBefore) {
      lines = createLines({ usedBefore, cwd: settings.cwd });
      write(lines.started(thread));
    },
    event(event) {
      lines.next(event).forEach(write);
      if (event.type === "turn/failed") say(`✗ ${event.message}\n`);
    },
    warn: (message) => say(`! ${message}\n`),
    notice: (message) => write(lines.notice(message)),
    finish: (last, completed) => Promise.resolve(keep(last, completed)),
    fail(message) {
      write(lines.failed(message));
      say(`skein: ${message}\n`);
    },
  };
}

/** JSON leaves these two as they are, and some readers (Node's readline) end a line at them. */
function oneLine(json: string): string {
  return json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/** Writes until it fails once. What is written resolves to whether it has left us. */
function writerOf(stream: Writable & { isTTY?: boolean }, failed: (error: NodeJS.ErrnoException) => void): { write(text: string): Promise<boolean>; dispose(): void } {
  let gone = false;
  const onError = (error: NodeJS.ErrnoException): void => {
    if (!gone) failed(error);
    gone = true;
  };
  stream.on("error", onError);
  const write = (text: string): Promise<boolean> => {
    if (gone) return Promise.resolve(false);
    return new Promise((resolve) => {
      stream.write(shownOn(stream, text), (error) => {
        if (error) onError(error);
        resolve(!error);
      });
    });
  };
  return { write, dispose: () => void stream.off("error", onError) };
}

/** A reader that had enough (`| head`) is no failure. */
function whyBroken(error: NodeJS.ErrnoException): Stopped {
  if (error.code === "EPIPE") return { exit: EXIT.done, message: "Nobody reads the output any more." };
  return { exit: EXIT.failed, message: `Standard output cannot be written (${codeOf(error)}).` };
}

/** Before anything is sent: could the last message be kept there? */
export function checkWritable(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new UserError(`The last message cannot be written to ${file}, which is a folder; nothing was sent.`, EXIT.usage);
  try {
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK);
  } catch (error) {
    throw new UserError(`The last message cannot be written to ${file} (${codeOf(error)}); nothing was sent.`, EXIT.usage);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}
