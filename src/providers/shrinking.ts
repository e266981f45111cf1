/**
 * An image made smaller, until it fits. The same bytes and bounds give the same bytes. A photograph stays JPEG; everything else becomes PNG,
 * or JPEG where PNG is too large. JPEGs are turned as their Exif data says, since that is lost.
 */
import { PhotonImage, resize, SamplingFilter } from "@silvia-odwyer/photon-node";
import { mediaTypeOf, orientationOf, sizeOf } from "./image-size.ts";

export interface Bounds {
  /** The longest side, in pixels. */
  side: number;
  /** The most bytes. */
  bytes: number;
}
export interface Picture {
  mediaType: string;
  bytes: Uint8Array;
}

const QUALITY = 85;
const SMALLEST_SIDE = 64;
/** Decoded, an image takes four bytes a pixel, whatever it was as a file. */
const MOST_PIXELS = 64_000_000;

/** Null when it cannot be read, or would fill the memory. */
export function shrunk(content: Uint8Array, bounds: Bounds): Picture | null {
  const size = sizeOf(content);
  if (!size || size.width * size.height > MOST_PIXELS) return null;
  const isPhoto = mediaTypeOf(content) === "image/jpeg";
  const orientation = orientationOf(content);
  const image = decoded(content);
  if (!image) return null;
  try {
    const longest = Math.max(image.get_width(), image.get_height());
    for (let side = Math.min(bounds.side, longest); side >= SMALLEST_SIDE; side = Math.floor(side * 0.75)) {
      const picture = atSide(image, { side, orientation, isPhoto }, bounds.bytes);
      if (picture) return picture;
    }
    return null;
  } finally {
    image.free();
  }
}

function decoded(content: Uint8Array): PhotonImage | null {
  try {
    return PhotonImage.new_from_byteslice(content);
  } catch {
    return null;
  }
}

function atSide(image: PhotonImage, { side, orientation, isPhoto }: { side: number; orientation: number; isPhoto: boolean }, most: number): Picture | null {
  const scale = side / Math.max(image.get_width(), image.get_height());
  const width = Math.max(1, Math.round(image.get_width() * scale));
  const height = Math.max(1, Math.round(image.get_height() * scale));
  const small = turned(resize(image, width, height, SamplingFilter.Triangle), orientation);
  try {
    const png = isPhoto ? null : small.get_bytes();
    if (png && png.length <= most) return { mediaType: "image/png", bytes: png };
    const jpeg = small.get_bytes_jpeg(QUALITY);
    return jpeg.length <= most ? { mediaType: "image/jpeg", bytes: jpeg } : null;
  } finally {
    small.free();
  }
}

/** Exif's eight ways to hold a camera. Frees what it is given when it gives another. */
function turned(image: PhotonImage, orientation: number): PhotonImage {
  if (orientation === 1) return image;
  const width = image.get_width();
  const height = image.get_height();
  const from = new Uint32Array(image.get_raw_pixels().slice().buffer);
  const to = new Uint32Array(from.length);
  const isSideways = orientation >= 5;
  const [newWidth, newHeight] = isSideways ? [height, width] : [width, height];
  const mirrorX = [2, 3, 7, 8].includes(orientation);
  const mirrorY = [3, 4, 6, 7].includes(orientation);
  for (let y = 0; y < newHeight; y++) {
    for (let x = 0; x < newWidth; x++) {
      const [a, b] = isSideways ? [y, x] : [x, y];
      to[y * newWidth + x] = from[(mirrorY ? height - 1 - b : b) * width + (mirrorX ? width - 1 - a : a)]!;
    }
  }
  image.free();
  return new PhotonImage(new Uint8Array(to.buffer), newWidth, newHeight);
}
