/**
 * blobs/<sha256>: contents beside the log. A blob is on the medium, under its name, before `put` resolves, so that a record that names
 * it may follow. A name holds its content or nothing: what does not have the hash that it is called by counts as missing, and
 * putting it again mends it. A fork has only its own; the rest is found along its bases.
 */
import { createHash } from "node:crypto";
import type { BlobRef, ThreadId } from "../../protocol/record.ts";
import { StoreFault, type BlobStore } from "../../core/store.ts";
import { asFault } from "./fault.ts";
import { errorCode, type Files } from "./files.ts";
import { baseOf, type Place } from "./header.ts";
import { blobFile, isBlobName } from "./layout.ts";
import { headerOf } from "./reader.ts";
import { discard, readWhole, temporaryBeside, writeFully } from "./whole.ts";

export class FileBlobs implements BlobStore {
  readonly #files: Files;
  readonly #find: (thread: ThreadId) => Place | null;
  /** Being put now, by path. */
  readonly #putting = new Map<string, Promise<void>>();

  constructor(files: Files, find: (thread: ThreadId) => Place | null) {
    this.#files = files;
    this.#find = find;
  }

  async put(thread: ThreadId, content: Uint8Array): Promise<BlobRef> {
    const ref: BlobRef = { sha256: hash(content), bytes: content.byteLength };
    try {
      const place = this.#find(thread);
      if (!place) throw new StoreFault(`There is no thread ${thread} to keep a blob for.`, { code: "not_found", poisoned: false });
      await this.#putAt(place, ref, content);
      return ref;
    } catch (error) {
      throw asFault(error, { doing: "keep a blob", kept: "No record names it, and the log is not affected." });
    }
  }

  async #putAt(place: Place, ref: BlobRef, content: Uint8Array): Promise<void> {
    const path = blobFile(place.files, ref.sha256);
    let putting = this.#putting.get(path);
    if (!putting) {
      putting = this.#write(place, path, content).finally(() => this.#putting.delete(path));
      this.#putting.set(path, putting);
    }
    await putting;
  }

  async #write(place: Place, path: string, content: Uint8Array): Promise<void> {
    const files = this.#files;
    if (files.makeFolder(place.files.blobs)) await files.syncFolder(place.files.folder);
    if (!this.#holds(path, content)) {
      const temporary = temporaryBeside(path);
      try {
        const fd = files.open(temporary, "create");
        try {
          writeFully(fd, content, { files });
          await files.sync(fd);
        } finally {
          files.close(fd);
        }
        files.rename(temporary, path);
      } catch (error) {
        discard(temporary, files);
        throw error;
      }
    }
    await files.syncFolder(place.files.blobs);
  }

  #holds(path: string, content: Uint8Array): boolean {
    return this.#files.stat(path)?.size === content.byteLength && readWhole(path, this.#files).equals(content);
  }

  async get(thread: ThreadId, ref: BlobRef): Promise<Uint8Array | null> {
    if (!isBlobName(ref.sha256)) return null;
    const visited = new Set<ThreadId>();
    try {
      for (let at: ThreadId | null = thread; at !== null && !visited.has(at); ) {
        visited.add(at);
        const place = this.#find(at);
        if (!place) return null;
        const found = this.#read(place, ref);
        if (found) return found;
        at = baseOf(headerOf(place, this.#files))?.thread ?? null;
      }
      return null;
    } catch (error) {
      throw asFault(error, { doing: "read a blob", kept: "Nothing was changed." });
    }
  }

  #read(place: Place, ref: BlobRef): Uint8Array | null {
    try {
      const content = readWhole(blobFile(place.files, ref.sha256), this.#files);
      return hash(content) === ref.sha256 ? content : null;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    }
  }
}

function hash(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
