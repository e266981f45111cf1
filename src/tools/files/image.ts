/** Image: a picture file as an answer that the model can look at. Its bytes are kept beside the log. */
import type { FileHandle } from "node:fs/promises";
import type { ToolHost, ToolOutcome } from "../../core/tool.ts";
import { failed } from "./arguments.ts";
import type { Kind } from "./kind.ts";

/** What every provider takes in one picture. */
const MOST_BYTES = 5 * 1024 * 1024;

interface Given {
  path: string;
  kind: Kind;
  file: FileHandle;
  bytes: number;
  host: ToolHost;
}

export async function showImage({ path, kind, file, bytes, host }: Given): Promise<ToolOutcome> {
  if (bytes > MOST_BYTES) return failed(`${path} is ${kind.name} of ${bytes} bytes, more than the ${MOST_BYTES} that can be shown. Make a smaller copy first.`);
  const content = Buffer.alloc(bytes);
  const { bytesRead } = await file.read(content, 0, bytes, 0);
  const { sha256 } = await host.keepBytes(content.subarray(0, bytesRead));
  return {
    status: "done",
    output: [
      { type: "input_text", text: `${path}: ${kind.name}, ${bytesRead} bytes.` },
      { type: "input_image", image_url: `blob:${sha256}` },
    ],
  };
}
