/** What listing cost in this process, so that a test can prove it without a clock. */
export const counters = {
  /** Rows taken from the index. */
  rows: 0,
  /** Threads looked at by stat. */
  looks: 0,
  /** Summaries read from a thread's folder. */
  summaries: 0,
  /** Folders of threads listed. */
  folders: 0,
};
