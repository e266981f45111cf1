/** view_image: a picture file, for the model to look at. */
import type { Tool } from "../../core/tool.ts";
import { failed, path, readArguments } from "./arguments.ts";
import { showImage } from "./image.ts";
import { withFile } from "./open.ts";
import type { FileToolOptions } from "./options.ts";
import { createView } from "./view.ts";

const PARAMETERS = {
  type: "object",
  properties: { path: { type: "string", description: "The picture. Relative paths start at the working folder." } },
  required: ["path"],
  additionalProperties: false,
} as const;

export function viewImage(options: FileToolOptions): Tool {
  return {
    name: "view_image",
    description: "Shows a picture from a file (PNG, JPEG, GIF or WebP).",
    parameters: PARAMETERS,
    effect: "read",
    async run(input, host) {
      const read = readArguments(input, { path });
      if (!read.ok) return failed(`Nothing was read. ${read.message}`);
      const name = read.value.path;
      return withFile(name, {
        view: createView(options, host),
        signal: host.signal,
        async use({ file, bytes, kind }) {
          if (kind?.image === true) return showImage({ path: name, kind, file, bytes, host });
          return failed(`${name} is not a PNG, JPEG, GIF or WebP image${kind ? ` but ${kind.name}` : ""}.`);
        },
      });
    },
  };
}
