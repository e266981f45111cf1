/** What the first bytes of an image tell: its kind and its size. Names lie, and decoding costs. */

export interface Size {
  width: number;
  height: number;
}

export function mediaTypeOf(content: Uint8Array): string | null {
  const head = Buffer.from(content.buffer, content.byteOffset, Math.min(12, content.byteLength)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WEBP") return "image/webp";
  return null;
}

/** Null where it cannot be told. */
export function sizeOf(content: Uint8Array): Size | null {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  try {
    switch (mediaTypeOf(content)) {
      case "image/png":
        return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
      case "image/gif":
        return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
      case "image/jpeg":
        return jpegSegments(bytes).frame;
      case "image/webp":
        return webpSize(bytes);
      default:
        return null;
    }
  } catch {
    return null; // it ends before its size
  }
}

/** How a JPEG is to be turned, 1 (not at all) to 8, as its Exif data says. */
export function orientationOf(content: Uint8Array): number {
  if (mediaTypeOf(content) !== "image/jpeg") return 1;
  try {
    return jpegSegments(Buffer.from(content.buffer, content.byteOffset, content.byteLength)).orientation;
  } catch {
    return 1;
  }
}

/** Walks the segments up to the frame header, which has the size; Exif comes before it. */
function jpegSegments(bytes: Buffer): { frame: Size | null; orientation: number } {
  let orientation = 1;
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { frame: { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }, orientation };
    if (marker === 0xda) break;
    if (marker === 0xe1 && bytes.toString("latin1", at + 4, at + 10) === "Exif\0\0") orientation = exifOrientation(bytes.subarray(at + 10));
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return { frame: null, orientation };
}

function exifOrientation(tiff: Buffer): number {
  const little = tiff.toString("latin1", 0, 2) === "II";
  const short = (at: number) => (little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const first = little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  for (let n = 0; n < short(first); n++) {
    const entry = first + 2 + n * 12;
    if (short(entry) !== 0x0112) continue;
    const value = short(entry + 8);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

function webpSize(bytes: Buffer): Size | null {
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8 ":
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}
