/**
 * Row ids of indexed texts, such that "highest first" is "newest thread first, and in a thread the latest first".
 *
 * Full-text matches come in the order of their row ids without sorting; any other order would have to visit every match. A row id is
 * the thread's bucket, then the text's number in it: 33 + 20 bits, a safe integer. The bucket follows from the thread's id alone
 * and grows with it: for a UUID of version 7, the second (1,024 ms) in which it was made. Threads may share a bucket; whoever
 * needs them in order sorts the few of one bucket.
 */
import type { ThreadId } from "../../../protocol/record.ts";

export const BUCKET_SIZE = 2 ** 20;
const BUCKETS = 2 ** 33 - 1;
const DIGITS = 12;

export function bucketOf(thread: ThreadId): number {
  return Math.min(BUCKETS - 1, Math.floor(leading(thread) / 1024));
}

/** The texts of a bucket: from `from`, before `to`. */
export function bucketRange(bucket: number): { from: number; to: number } {
  return { from: bucket * BUCKET_SIZE, to: (bucket + 1) * BUCKET_SIZE };
}

/**
 * The first 12 hex digits as a number, over any dash after the eighth. Ids of other shapes must not get out of order: from the first
 * character that is no such digit on, the rest counts as lowest or highest, whichever side of the digits it sorts on.
 */
function leading(thread: ThreadId): number {
  let value = 0;
  let at = 0;
  for (let digits = 0; digits < DIGITS; digits++, at++) {
    if (digits === 8 && at === 8) {
      if (thread[8] === "-") at += 1;
      else return fill(value, { digits, digit: thread.length > 8 ? 15 : 0 });
    }
    const code = thread.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) value = value * 16 + code - 0x30;
    else if (code >= 0x61 && code <= 0x66) value = value * 16 + code - 0x57;
    else if (code >= 0x41 && code <= 0x5a) return fill(value * 16 + 9, { digits: digits + 1, digit: 15 });
    else return fill(value, { digits, digit: code > 0x66 ? 15 : 0 });
  }
  return value;
}

function fill(value: number, { digits, digit }: { digits: number; digit: number }): number {
  for (let left = DIGITS - digits; left > 0; left--) value = value * 16 + digit;
  return value;
}
