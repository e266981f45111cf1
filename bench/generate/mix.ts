/**
 * The mix: what the sessions of a coding agent consist of, in numbers. Sizes are log-normal (median, spread, cut at both ends), as
 * sizes of messages and outputs are: many small ones and a long tail. A turn has about 52 kB of log, so 1,000 MB are about
 * 19,000 turns, some years of daily use.
 *
 *   turn      one user message (median 400 B), then samples until there are no more calls: median 5 rounds of calls, at most 40
 *   sample    80% with reasoning (encrypted, median 1.2 kB, and a summary); 25% with a few words before the calls; 85% of
 *             the rounds have one call, 15% two; the last sample ends the turn with a message (median 1.2 kB)
 *   calls     75% exec_command, output median 1.2 kB (mean about 2.6 kB, at most 32 kB)
 *             20% apply_patch, patch median 900 B, short output, one or two files changed
 *              5% update_plan
 *   images     3% of user messages, as blobs (median 120 kB)
 *   long       2% of outputs are cut and kept in full as a blob
 *   foreign    5% of messages are in a script beyond Latin-1
 *   trouble    1% of samples fail and are tried again; 3% of turns are interrupted; 4% of exec calls ask for approval
 *   rewinds    one turn in 40 is followed by a rewind of one or two turns
 *   resumes    one turn in 25 is followed by a new writer
 *   context    instructions and tools (blobs) change every 30 turns
 *   compaction when the history passes 150,000 tokens (4 B a token): a summary of about 6 kB, the last 5 turns are kept
 *   carries    `state.saved` as the runtime does it, after 1 MB without a carry
 *   forks      one for every 10 MB, at most 8, each of 3 turns, from where the session then is
 *
 * Blobs are real files of real sizes, but at most 32 different ones a session: nothing measured depends on how many there
 * are. `diff` of turn.ended is given where a patch was applied. A session ends just before its next compaction would be due: the
 * worst place to open it at. Many small sessions are the same, shorter: about one round a turn, 15 kB of log on average, without
 * blobs and forks, created over two years by three sources in 40 folders.
 */
import type { Sizes } from "./random.ts";

export const MIX = {
  userMessage: { median: 400, spread: 1, least: 20, most: 20_000 } satisfies Sizes,
  answer: { median: 1200, spread: 0.8, least: 60, most: 12_000 } satisfies Sizes,
  preamble: { median: 140, spread: 0.5, least: 30, most: 600 } satisfies Sizes,
  reasoning: { median: 1200, spread: 0.7, least: 300, most: 12_000 } satisfies Sizes,
  summaryOfReasoning: { median: 180, spread: 0.5, least: 40, most: 800 } satisfies Sizes,
  command: { median: 90, spread: 0.9, least: 10, most: 3000 } satisfies Sizes,
  output: { median: 1200, spread: 1.25, least: 0, most: 32_000 } satisfies Sizes,
  patch: { median: 900, spread: 0.9, least: 120, most: 16_000 } satisfies Sizes,
  image: { median: 120_000, spread: 0.6, least: 10_000, most: 900_000 } satisfies Sizes,
  longOutput: { median: 90_000, spread: 0.7, least: 33_000, most: 600_000 } satisfies Sizes,
  compactSummary: { median: 6000, spread: 0.3, least: 2000, most: 15_000 } satisfies Sizes,
  rounds: { median: 5, spread: 0.8, least: 0, most: 40 } satisfies Sizes,
  roundsOfSmall: { median: 0.7, spread: 0.8, least: 0, most: 6 } satisfies Sizes,
  smallSession: { median: 4000, spread: 1, least: 1000, most: 300_000 } satisfies Sizes,

  hasReasoning: 0.8,
  hasPreamble: 0.25,
  twoCalls: 0.15,
  isPatch: 0.2,
  isPlan: 0.05,
  hasImage: 0.03,
  isLongOutput: 0.02,
  isForeign: 0.05,
  sampleFails: 0.01,
  turnInterrupted: 0.03,
  callAsks: 0.04,

  rewindEvery: 40,
  resumeEvery: 25,
  contextEvery: 30,
  bytesPerToken: 4,
  compactAtTokens: 150_000,
  keepTurns: 5,
  bytesPerFork: 10_000_000,
  mostForks: 8,
  forkTurns: 3,
  blobs: 32,
} as const;
