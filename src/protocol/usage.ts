/** What reading the usage of all threads takes and gives. */

export interface UsageQuery {
  /** The first day, YYYY-MM-DD. */
  since?: string;
  /** Only what was asked from this folder and from folders in it. */
  cwd?: string;
}

/** What the requests of one day, model and folder have used. Tokens are as in Usage. */
export interface UsageRow {
  /** YYYY-MM-DD, in UTC. */
  day: string;
  model: string;
  provider: string;
  cwd: string;
  requests: number;
  /** Of these, requests that used something and never told what: they were lost or broke off. Their tokens are in no sum. */
  unknown_requests: number;
  input_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  /** US dollars of what was told; null: the model's prices are not known. */
  cost: number | null;
}
