/**
 * Seccomp: the system calls that a sandboxed command may not make, because namespaces and read-only mounts do not cover them. The
 * result is a classic BPF program as bubblewrap's --seccomp reads it. Pure.
 *
 * - Sockets of other families than IP, netlink and Unix: AF_VSOCK reaches the host of a virtual machine from any network namespace.
 *   With the network on, Unix sockets cannot be made either, since abstract ones of the host belong to its network
 *   (socketpair, which pipes between processes use, stays).
 * - Set-user-id and set-group-id modes: such a file in the workspace would be the user's (or root's) identity for everybody outside.
 * - io_uring and openat2 do the same by other means, so they do not exist (programs fall back).
 * - Kernel keyrings (they hold secrets and are not in any file), bpf and perf events.
 *
 * A program for another architecture or calling convention gets ENOSYS for everything: its numbers mean other calls.
 */

interface Numbers {
  readonly arch: number;
  /** Set in the call's number by a second calling convention. */
  readonly otherConvention: number | null;
  readonly socket: number;
  /** Calls with a mode argument, and which one it is. */
  readonly modes: readonly (readonly [call: number, argument: number])[];
  /** Calls with a mode that counts only when the flags say that a file is made. */
  readonly opens: readonly (readonly [call: number, flags: number, argument: number])[];
  readonly absent: readonly number[];
  readonly refused: readonly number[];
}

const NUMBERS: Readonly<Record<string, Numbers>> = {
  x64: {
    arch: 0xc000003e,
    otherConvention: 0x40000000,
    socket: 41,
    // chmod, fchmod, fchmodat, fchmodat2, creat, mknod, mknodat
    modes: [[90, 1], [91, 1], [268, 2], [452, 2], [85, 1], [133, 1], [259, 2]],
    // open, openat
    opens: [[2, 1, 2], [257, 2, 3]],
    // io_uring_setup, io_uring_enter, io_uring_register, openat2
    absent: [425, 426, 427, 437],
    // add_key, request_key, keyctl, perf_event_open, bpf
    refused: [248, 249, 250, 298, 321],
  },
  arm64: {
    arch: 0xc00000b7,
    otherConvention: null,
    socket: 198,
    // fchmod, fchmodat, fchmodat2, mknodat
    modes: [[52, 1], [53, 2], [452, 2], [33, 2]],
    opens: [[56, 2, 3]],
    absent: [425, 426, 427, 437],
    refused: [217, 218, 219, 241, 280],
  },
};

const AF = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
const ERRNO = { EPERM: 1, EACCES: 13, ENOSYS: 38, EAFNOSUPPORT: 97 };
const SET_ID = 0o6000;
/** O_CREAT and the bit of O_TMPFILE. */
const MAKES_FILE = 0o20000100;

type Instruction = readonly [code: number, jumpIfTrue: number, jumpIfFalse: number, value: number];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const ifEqual = (value: number, yes: number, no: number): Instruction => [0x15, yes, no, value];
const ifAtLeast = (value: number, yes: number, no: number): Instruction => [0x35, yes, no, value];
const ifAnyBit = (mask: number, yes: number, no: number): Instruction => [0x45, yes, no, mask];
const allow: Instruction = [0x06, 0, 0, 0x7fff0000];
const fail = (errno: number): Instruction => [0x06, 0, 0, 0x00050000 | errno];
const argument = (index: number): Instruction => load(16 + 8 * index);

/** Null where the architecture is not known: then there is no filter, and detect.ts says so. */
export function seccompFilter({ arch, network }: { arch: string; network: boolean }): Uint8Array | null {
  const numbers = NUMBERS[arch];
  if (!numbers) return null;
  const families = network ? [AF.inet, AF.inet6, AF.netlink] : [AF.unix, AF.inet, AF.inet6, AF.netlink];
  const socket = [argument(0), ...families.flatMap((family) => [ifEqual(family, 0, 1), allow]), ifEqual(AF.unix, 0, 1), fail(ERRNO.EACCES), fail(ERRNO.EAFNOSUPPORT)];
  const program: Instruction[] = [
    load(4),
    ifEqual(numbers.arch, 1, 0),
    fail(ERRNO.ENOSYS),
    load(0),
    ...(numbers.otherConvention === null ? [] : [ifAtLeast(numbers.otherConvention, 0, 1), fail(ERRNO.ENOSYS)]),
    ...when(numbers.socket, socket),
    ...numbers.modes.flatMap(([call, mode]) => when(call, [argument(mode), ifAnyBit(SET_ID, 0, 1), fail(ERRNO.EPERM), allow])),
    ...numbers.opens.flatMap(([call, flags, mode]) =>
      when(call, [argument(flags), ifAnyBit(MAKES_FILE, 0, 3), argument(mode), ifAnyBit(SET_ID, 0, 1), fail(ERRNO.EPERM), allow]),
    ),
    ...numbers.absent.flatMap((call) => when(call, [fail(ERRNO.ENOSYS)])),
    ...numbers.refused.flatMap((call) => when(call, [fail(ERRNO.EPERM)])),
    allow,
  ];
  return encode(program);
}

/** `then` runs for this call and ends by returning; for others the loaded number is still there. */
function when(call: number, then: readonly Instruction[]): Instruction[] {
  return [ifEqual(call, 0, then.length), ...then];
}

/** struct sock_filter, little-endian as on both architectures. */
function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, yes, no, value]] of program.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, yes);
    bytes.setUint8(index * 8 + 3, no);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
