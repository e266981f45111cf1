/** Puts the texts that a request refers to in their place: context is kept as blobs (core/context.ts) and sent as text. */
import { isMessage, type ContentPart, type Item } from "../protocol/item.ts";
import type { ThreadId } from "../protocol/record.ts";
import { textBlob } from "../core/context.ts";
import type { ModelRequest } from "../core/provider.ts";
import type { BlobReader } from "../core/store.ts";

const GONE = "[This text is not available any more.]";

export async function withTexts(request: ModelRequest, thread: ThreadId, blobs: BlobReader): Promise<ModelRequest> {
  const input = await Promise.all(
    request.input.map(async (shown) => {
      const item = await filled(shown.item, thread, blobs);
      return item === shown.item ? shown : { ...shown, item };
    }),
  );
  return { ...request, input };
}

async function filled(item: Item, thread: ThreadId, blobs: BlobReader): Promise<Item> {
  if (!isMessage(item) || !item.content.some((part) => textBlob(part))) return item;
  const content = await Promise.all(
    item.content.map(async (part): Promise<ContentPart> => {
      const ref = textBlob(part);
      if (!ref) return part;
      const bytes = await blobs.get(thread, ref).catch(() => null);
      return { type: "input_text", text: bytes ? new TextDecoder().decode(bytes) : GONE };
    }),
  );
  const { context: _key, ...message } = item;
  return { ...message, content } as Item;
}
