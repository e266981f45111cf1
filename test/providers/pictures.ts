/** Real image files of any size, made here. */
import { crc32, deflateSync } from "node:zlib";
import { PhotonImage } from "@silvia-odwyer/photon-node";

/** The colour of each pixel. */
type Paint = (x: number, y: number) => readonly [red: number, green: number, blue: number];

/** Left half red, right half blue. */
export const HALVES = (width: number): Paint => (x) => (x < width / 2 ? [255, 0, 0] : [0, 0, 255]);
/** Nothing repeats, so nothing compresses. */
export const NOISE: Paint = (x, y) => {
  const n = Math.imul(x * 73_856_093 + y * 19_349_663, 2_654_435_761) >>> 0;
  return [n & 255, (n >>> 8) & 255, (n >>> 16) & 255];
};

export function png(width: number, height: number, paint: Paint): Buffer {
  const rows = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows.set(paint(x, y), y * (width * 3 + 1) + 1 + x * 3);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", header), chunk("IDAT", deflateSync(rows, { level: 1 })), chunk("IEND", Buffer.alloc(0))]);
}

export function jpeg(width: number, height: number, paint: Paint): Buffer {
  return encoded(width, height, paint, (image) => image.get_bytes_jpeg(90));
}

export function webp(width: number, height: number, paint: Paint): Buffer {
  return encoded(width, height, paint, (image) => image.get_bytes_webp());
}

/** Red and blue only. Its codes never grow beyond nine bits, since the table is cleared before. */
export function gif(width: number, height: number, paint: Paint): Buffer {
  const colours = Array.from({ length: 256 }, (_, n) => (n === 0 ? [255, 0, 0] : [0, 0, 255])).flat();
  const size = [width & 255, width >> 8, height & 255, height >> 8];
  const data: number[] = [];
  let bits = 0;
  let open = 0;
  const put = (code: number) => {
    bits |= code << open;
    for (open += 9; open >= 8; open -= 8, bits >>>= 8) data.push(bits & 255);
  };
  for (let n = 0; n < width * height; n++) {
    if (n % 250 === 0) put(256);
    put(paint(n % width, Math.floor(n / width))[0] > 0 ? 0 : 1);
  }
  put(257);
  data.push(bits & 255);
  const blocks = Array.from({ length: Math.ceil(data.length / 255) }, (_, n) => data.slice(n * 255, n * 255 + 255)).flatMap((block) => [block.length, ...block]);
  return Buffer.concat([Buffer.from("GIF89a", "latin1"), Buffer.from([...size, 0xf7, 0, 0, ...colours, 0x2c, 0, 0, 0, 0, ...size, 0, 8, ...blocks, 0, 0x3b])]);
}

/** The JPEG with Exif data that says how it is to be turned. */
export function held(image: Buffer, orientation: number): Buffer {
  const tiff = Buffer.from([0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0]);
  const body = Buffer.concat([Buffer.from("Exif\0\0", "latin1"), tiff]);
  const head = Buffer.from([0xff, 0xe1, 0, body.length + 2]);
  return Buffer.concat([image.subarray(0, 2), head, body, image.subarray(2)]);
}

/** Of an encoded image: its size, and the colour in its middle of each half, top to bottom or left to right. */
export function seen(bytes: Uint8Array): { width: number; height: number; first: string; last: string } {
  const image = PhotonImage.new_from_byteslice(bytes);
  const [width, height, pixels] = [image.get_width(), image.get_height(), image.get_raw_pixels()];
  const at = (x: number, y: number) => ((pixels[(y * width + x) * 4] ?? 0) > 128 ? "red" : "blue");
  return { width, height, first: at(Math.floor(width / 8), Math.floor(height / 8)), last: at(Math.floor((width * 7) / 8), Math.floor((height * 7) / 8)) };
}

function encoded(width: number, height: number, paint: Paint, encode: (image: PhotonImage) => Uint8Array): Buffer {
  const pixels = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) pixels.set([...paint(x, y), 255], (y * width + x) * 4);
  return Buffer.from(encode(new PhotonImage(pixels, width, height)));
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
