/** The filter, read as the kernel reads it. */
import { expect, test } from "vitest";
import { seccompFilter } from "../../../src/tools/sandbox/seccomp.ts";

const ALLOW = "allow";
const errno = (number: number): string => `errno ${number}`;
const X64 = 0xc000003e;
const ARM64 = 0xc00000b7;

function decide({ arch = "x64", network = false, native = arch === "x64" ? X64 : ARM64, call, args = [] }: { arch?: string; network?: boolean; native?: number; call: number; args?: number[] }): string {
  const bytes = seccompFilter({ arch, network })!;
  const program = new DataView(bytes.buffer);
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, call, true);
  data.setUint32(4, native, true);
  for (const [index, value] of args.entries()) data.setUint32(16 + 8 * index, value, true);
  let loaded = 0;
  for (let at = 0; ; at++) {
    const code = program.getUint16(at * 8, true);
    const [yes, no, value] = [program.getUint8(at * 8 + 2), program.getUint8(at * 8 + 3), program.getUint32(at * 8 + 4, true)];
    if (code === 0x20) loaded = data.getUint32(value, true);
    else if (code === 0x06) return value === 0x7fff0000 ? ALLOW : errno(value & 0xffff);
    else at += (code === 0x15 ? loaded === value : code === 0x35 ? loaded >= value : (loaded & value) !== 0) ? yes : no;
  }
}

test("ordinary calls are allowed", () => {
  for (const call of [0, 1, 3, 9, 56, 57, 59, 61, 62, 101, 231, 435]) expect(decide({ call })).toBe(ALLOW);
  for (const call of [63, 64, 93, 117, 220, 221]) expect(decide({ arch: "arm64", call })).toBe(ALLOW);
});

test.each(["x64", "arm64"])("%s: sockets of the families that namespaces cover, and no others", (arch) => {
  const call = arch === "x64" ? 41 : 198;
  for (const family of [1, 2, 10, 16]) expect(decide({ arch, call, args: [family] })).toBe(ALLOW);
  for (const family of [0, 17, 31, 38, 40, 44]) expect(decide({ arch, call, args: [family] })).toBe(errno(97));
});

test("with the network on there are no Unix sockets", () => {
  expect(decide({ network: true, call: 41, args: [1] })).toBe(errno(13));
  expect(decide({ network: true, call: 41, args: [2] })).toBe(ALLOW);
  expect(decide({ network: true, call: 53, args: [1] })).toBe(ALLOW);
});

test.each([
  ["x64", 90, [0, 0o4755]],
  ["x64", 91, [0, 0o2755]],
  ["x64", 268, [0, 0, 0o6755]],
  ["x64", 452, [0, 0, 0o4000]],
  ["x64", 85, [0, 0o4755]],
  ["x64", 133, [0, 0o104755]],
  ["x64", 259, [0, 0, 0o104755]],
  ["x64", 2, [0, 0o101, 0o4755]],
  ["x64", 257, [0, 0, 0o101, 0o4755]],
  ["x64", 257, [0, 0, 0o20200002, 0o4755]],
  ["arm64", 52, [0, 0o4755]],
  ["arm64", 53, [0, 0, 0o4755]],
  ["arm64", 33, [0, 0, 0o104755]],
  ["arm64", 56, [0, 0, 0o101, 0o4755]],
])("%s: call %d with the mode in %j makes no file that lends an identity", (arch, call, args) => {
  expect(decide({ arch, call, args })).toBe(errno(1));
  expect(decide({ arch, call, args: args.map((value) => value & ~0o6000) })).toBe(ALLOW);
});

test("what looks like a mode is none when no file is made", () => {
  expect(decide({ call: 257, args: [0, 0, 0o2, 0o4755] })).toBe(ALLOW);
  expect(decide({ call: 2, args: [0, 0o200000, 0o6777] })).toBe(ALLOW);
});

test("ways around the filter do not exist", () => {
  for (const call of [425, 426, 427, 437]) expect(decide({ call })).toBe(errno(38));
  expect(decide({ call: 41, native: 0x40000003, args: [40] })).toBe(errno(38));
  expect(decide({ call: 0x40000000 + 41, args: [40] })).toBe(errno(38));
});

test("keyrings, bpf and perf events are refused", () => {
  for (const call of [248, 249, 250, 298, 321]) expect(decide({ call })).toBe(errno(1));
  for (const call of [217, 218, 219, 241, 280]) expect(decide({ arch: "arm64", call })).toBe(errno(1));
});

test("there is no filter for other architectures", () => {
  expect(seccompFilter({ arch: "riscv64", network: false })).toBeNull();
});
