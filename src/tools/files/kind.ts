/** Kind: what a file is, by its first bytes. Pure. */

export interface Kind {
  readonly name: string;
  /** It can be shown to a model as a picture. */
  readonly image: boolean;
}

/** How many first bytes are looked at. */
export const LOOKED_AT = 8192;

export const UTF_16 = "UTF-16 text";

const STARTS: readonly (readonly [start: string, name: string])[] = [
  ["%PDF-", "a PDF document"],
  ["PK\u0003\u0004", "a ZIP archive (or a document, package or jar in that format)"],
  ["\u001f\u008b", "gzip data"],
  ["BZh", "bzip2 data"],
  ["\u00fd7zXZ\u0000", "xz data"],
  ["(\u00b5/\u00fd", "zstd data"],
  ["7z\u00bc\u00af\u0027\u001c", "a 7z archive"],
  ["\u007fELF", "an ELF program or library"],
  ["\u00cf\u00fa\u00ed\u00fe", "a Mach-O program or library"],
  ["MZ", "a Windows program or library"],
  ["SQLite format 3\u0000", "an SQLite database"],
  ["\u0000asm", "a WebAssembly module"],
  ["\u00ff\u00fe", UTF_16],
  ["\u00fe\u00ff", UTF_16],
  ["OggS", "Ogg audio or video"],
  ["ID3", "MP3 audio"],
  ["\u00ca\u00fe\u00ba\u00be", "a Java class or a Mach-O program"],
];

/** What may be no UTF-8 text although it has no NUL bytes: PDF, and UTF-16 in many scripts. */
const WITHOUT_NUL = /^(?:%PDF-|\u00ff\u00fe|\u00fe\u00ff)/u;

/** Null: nothing speaks against text. */
export function kindOf(start: Buffer): Kind | null {
  const head = start.toString("latin1", 0, 32);
  const image = imageKind(head);
  if (image !== null) return { name: image, image: true };
  if (!start.includes(0) && !WITHOUT_NUL.test(head)) return null;
  return { name: STARTS.find(([begin]) => head.startsWith(begin))?.[1] ?? "binary data", image: false };
}

function imageKind(head: string): string | null {
  if (head.startsWith("\u0089PNG\r\n\u001a\n")) return "a PNG image";
  if (head.startsWith("\u00ff\u00d8\u00ff")) return "a JPEG image";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "a GIF image";
  return head.startsWith("RIFF") && head.slice(8, 12) === "WEBP" ? "a WebP image" : null;
}
