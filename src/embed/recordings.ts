/** Recordings: the tour, a log file (by its path), or a thread, along its lineage. */
import type { Store } from "../core/store.ts";
import type { Recorded } from "../providers/recorded.ts";

export async function readRecording(source: string, store: Store): Promise<Recorded | null> {
  if (source === "tour") return (await import("../providers/recordings/tour.ts")).TOUR.recorded;
  const [{ samplesOf }, { fileRecords }, { liveRecords }] = await Promise.all([import("../providers/recorded.ts"), import("../stores/recording.ts"), import("../runtime/loading.ts")]);
  const records = source.includes("/") ? fileRecords(source) : await liveRecords(store, source);
  return records && samplesOf(records);
}
