/** Recordings: the tour, a log file (by its path), or a thread, along its lineage. */
import type { Store } from "../core/store.ts";
import type { Recorded } from "../providers/recorded.ts";

export async function readRecording(source: string, store: Store): Promise<Recorded | null> {
  if (source === "tour") return (await import("../providers/recordings/tour.ts")).TOUR.recorded;
  const [{ samplesOf }, { fileRecords }, { liveRecords }] = await Promise.all([import("../providers/recorded.ts"), import("../stores/recording.ts"), import("../runtime/loading.ts")]);
  let damaged = 0;
  const file = source.includes("/") ? fileRecords(source) : null;
  const records = source.includes("/") ? file?.records : await liveRecords(store, source, () => void (damaged += 1));
  if (!records) return null;
  damaged += file?.damaged ?? 0;
  return { ...samplesOf(records), ...(damaged === 0 ? {} : { notice: `The recording is damaged in ${damaged} ${damaged === 1 ? "place" : "places"}; what can be read of it is played.` }) };
}
