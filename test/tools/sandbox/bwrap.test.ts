import { expect, test } from "vitest";
import { bwrapArguments, bwrapOptions, encodeOptions, type BwrapPlan } from "../../../src/tools/sandbox/bwrap.ts";

const readOnly: BwrapPlan = {
  uid: 1000,
  network: false,
  workdir: "/w",
  env: { PATH: "/bin" },
  roots: [],
  visible: [],
  readOnly: [],
  empty: [],
  unreadable: [],
  tmp: null,
  fresh: ["/run", "/var/tmp"],
  hasFilter: true,
};

/** The mounts, one a line, without the options that are always there. */
function mounts(plan: Partial<BwrapPlan>): string[] {
  const options = bwrapOptions({ ...readOnly, fresh: [], ...plan });
  const from = options.lastIndexOf("--ro-bind-try") + 3;
  const text = options.slice(from, options.indexOf("--chdir")).join(" ");
  return text.split(/ (?=--(?:bind|ro-bind|tmpfs|remount-ro|perms) )/u).filter((line) => !line.endsWith(" /tmp") && !line.startsWith("--perms"));
}

test("the whole of a read-only sandbox", () => {
  expect(bwrapOptions(readOnly).join(" ")).toBe(
    "--unshare-user --disable-userns --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net --cap-drop ALL --new-session --die-with-parent " +
      "--json-status-fd 3 --seccomp 5 --ro-bind / / --dev /dev --proc /proc " +
      "--ro-bind-try /proc/sys /proc/sys --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger --ro-bind-try /proc/mtrr /proc/mtrr --ro-bind-try /proc/acpi /proc/acpi " +
      "--ro-bind-try /proc/scsi /proc/scsi --ro-bind-try /proc/fs /proc/fs --ro-bind-try /proc/driver /proc/driver --ro-bind-try /proc/dynamic_debug /proc/dynamic_debug " +
      "--perms 1777 --size 1073741824 --tmpfs /tmp --perms 1777 --size 1073741824 --tmpfs /run --perms 1777 --size 1073741824 --tmpfs /var/tmp " +
      "--chdir /w --clearenv --setenv PATH /bin",
  );
});

test("root becomes nobody", () => {
  expect(bwrapOptions({ ...readOnly, uid: 0 }).join(" ")).toContain(" --uid 65534 --gid 65534 ");
  expect(bwrapOptions(readOnly)).not.toContain("--uid");
});

test("the network is there only when it is allowed", () => {
  expect(bwrapOptions({ ...readOnly, network: true })).not.toContain("--unshare-net");
});

test("the private folder is /tmp", () => {
  expect(bwrapOptions({ ...readOnly, tmp: "/private/tmp" }).join(" ")).toContain(" --bind /private/tmp /tmp ");
});

test("rules go from the outside in, and protected paths win over roots", () => {
  expect(mounts({ roots: ["/w"], readOnly: ["/w/.git"], empty: ["/w/.skein"], unreadable: ["/etc/shadow"] })).toEqual([
    "--bind /w /w",
    "--ro-bind /w/.git /w/.git",
    "--tmpfs /w/.skein",
    "--ro-bind /dev/null /etc/shadow",
    "--remount-ro /w/.skein",
  ]);
});

test("a root inside a hidden folder is mounted after it, and the folder is closed last", () => {
  expect(mounts({ roots: ["/srv/data/w"], empty: ["/srv"], visible: ["/srv/bin"] })).toEqual(["--tmpfs /srv", "--ro-bind /srv/bin /srv/bin", "--bind /srv/data/w /srv/data/w", "--remount-ro /srv"]);
});

test("a root that is also protected stays protected", () => {
  expect(mounts({ roots: ["/w", "/w/.git"], readOnly: ["/w/.git"] })).toEqual(["--bind /w /w", "--ro-bind /w/.git /w/.git"]);
});

test("folders between a root and what is protected in it cannot be moved away", () => {
  expect(mounts({ roots: ["/h"], empty: ["/h/.config/app/skein"] })).toEqual([
    "--bind /h /h",
    "--bind /h/.config /h/.config",
    "--bind /h/.config/app /h/.config/app",
    "--tmpfs /h/.config/app/skein",
    "--remount-ro /h/.config/app/skein",
  ]);
});

test("but no folder inside a protected one becomes writable by that", () => {
  expect(mounts({ roots: ["/w"], readOnly: ["/w/.git"], unreadable: ["/w/.git/a/b/socket"] })).toEqual([
    "--bind /w /w",
    "--ro-bind /w/.git /w/.git",
    "--ro-bind /dev/null /w/.git/a/b/socket",
  ]);
});

test("a hidden folder around the root changes nothing in it", () => {
  expect(mounts({ roots: ["/top/h"], empty: ["/top", "/top/h/.config/skein"] })).toEqual([
    "--tmpfs /top",
    "--bind /top/h /top/h",
    "--bind /top/h/.config /top/h/.config",
    "--tmpfs /top/h/.config/skein",
    "--remount-ro /top",
    "--remount-ro /top/h/.config/skein",
  ]);
});

test("names that only begin alike are not inside each other", () => {
  expect(mounts({ roots: ["/w"], readOnly: ["/w2/x/.git"] })).toEqual(["--bind /w /w", "--ro-bind /w2/x/.git /w2/x/.git"]);
});

test("options travel apart from the command, which is taken as it is", () => {
  expect(bwrapArguments(["--help", "x y"])).toEqual(["--args", "4", "--", "--help", "x y"]);
  expect(encodeOptions(["--setenv", "A", ""])).toBe("--setenv\0A\0\0");
});
