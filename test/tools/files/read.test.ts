import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, openSync, symlinkSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratch } from "../../../src/tools/scratch.ts";
import { put, run, sha256, world } from "./given.ts";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const MKFIFO = "mkfifo";

describe("read_file", () => {
  test("gives lines with their numbers", async () => {
    const place = world({ "a.txt": "one\r\ntwo\n\nfour" });
    expect(await run("read_file", { path: "a.txt" }, place)).toMatchObject({ status: "done", output: "1\tone\n2\ttwo\n3\t\n4\tfour" });
    expect((await run("read_file", { path: "a.txt", offset: 2, limit: 2 }, place)).text).toBe("2\ttwo\n3\t\n[… more lines follow: go on with offset 4 …]");
    expect((await run("read_file", { file_path: join(place.cwd, "a.txt"), offset: "4", limit: null }, place)).text).toBe("4\tfour");
  });
  test("says what is beyond the end, and what is empty", async () => {
    const place = world({ "a": "one\n", "empty": "" });
    expect(await run("read_file", { path: "a", offset: 2 }, place)).toMatchObject({ status: "failed", output: "a has 1 line: there is no line 2." });
    expect((await run("read_file", { path: "empty" }, place)).text).toBe("empty is empty.");
  });
  test("cuts long lines and too many bytes, and says where to go on", async () => {
    const place = world({ "long": `${"x".repeat(2500)}\nend\n`, "many": "0123456789\n".repeat(1000) });
    expect((await run("read_file", { path: "long" }, place)).text).toBe(`1\t${"x".repeat(2000)} [… 500 bytes more …]\n2\tend`);
    const many = await run("read_file", { path: "many" }, place, { options: { outputTokens: 100 } });
    expect(many.text.split("\n").slice(-2)).toEqual(["29\t0123456789", "[… more lines follow: go on with offset 30 …]"]);
  });
  test("reads the start of a file of any size, and lines over pieces", async () => {
    const place = world({ "big": "first\n" });
    truncateSync(join(place.cwd, "big"), 9000);
    expect((await run("read_file", { path: "big" }, place)).text).toBe("big is binary data, 9000 bytes, and not a text. Use a command that understands it.");
    put(join(place.cwd, "huge"), "line\n");
    appendFileSync(join(place.cwd, "huge"), `${"y".repeat(300_000)}\nlast\n`);
    const descriptor = openSync(join(place.cwd, "huge"), "r+");
    writeSync(descriptor, "z\n", 3_000_000_000);
    closeSync(descriptor);
    expect((await run("read_file", { path: "huge", offset: 3, limit: 1 }, place)).text).toBe("3\tlast\n[… more lines follow: go on with offset 4 …]");
  });
  test("shows pictures by what they are, not by their names", async () => {
    const place = world({ "pic.txt": PNG });
    for (const tool of ["read_file", "view_image"]) {
      const ran = await run(tool, { path: "pic.txt" }, place);
      expect(ran.output).toEqual([
        { type: "input_text", text: `pic.txt: a PNG image, ${PNG.length} bytes.` },
        { type: "input_image", image_url: `blob:${sha256(PNG)}` },
      ]);
      expect(ran.kept).toEqual([PNG]);
    }
  });
  test.each([
    ["a.gif", Buffer.from("GIF89a\u0001"), "a GIF image"],
    ["a.jpg", Buffer.from([0xff, 0xd8, 0xff, 0xe0]), "a JPEG image"],
    ["a.webp", Buffer.from("RIFF\u0004\0\0\0WEBPVP8 "), "a WebP image"],
  ])("knows %s", async (name, bytes, kind) => {
    expect((await run("view_image", { path: name }, world({ [name]: bytes }))).output).toMatchObject([{ text: `${name}: ${kind}, ${bytes.length} bytes.` }, { type: "input_image" }]);
  });
  test("refuses pictures that are too large, and what is no picture", async () => {
    const place = world({ "big.png": Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)]), "a.txt": "text\n", "a.pdf": "%PDF-1.7\n" });
    expect((await run("read_file", { path: "big.png" }, place)).text).toMatch(/^big\.png is a PNG image of \d+ bytes, more than the 5242880 that can be shown\./u);
    expect((await run("view_image", { path: "a.txt" }, place)).text).toBe("a.txt is not a PNG, JPEG, GIF or WebP image.");
    expect((await run("view_image", { path: "a.pdf" }, place)).text).toBe("a.pdf is not a PNG, JPEG, GIF or WebP image but a PDF document.");
  });
  test.each([
    ["a.pdf", "%PDF-1.7\n", "a PDF document"],
    ["a.zip", "PK\u0003\u0004\0\0", "a ZIP archive (or a document, package or jar in that format)"],
    ["a.bin", "x\0y", "binary data"],
    ["a.out", "\u007fELF\0\0", "an ELF program or library"],
  ])("says that %s is not a text", async (name, content, kind) => {
    expect(await run("read_file", { path: name }, world({ [name]: content }))).toMatchObject({ status: "failed", output: `${name} is ${kind}, ${content.length} bytes, and not a text. Use a command that understands it.` });
  });
  test.each([
    ["Latin", Buffer.from("\ufeffhi\n", "utf16le")],
    ["Chinese", Buffer.from("\ufeff\u4f60\u597d", "utf16le")],
  ])("says that %s in UTF-16 is not read", async (_, content) => {
    expect(await run("read_file", { path: "wide" }, world({ wide: content }))).toMatchObject({ status: "failed", output: "wide is UTF-16; only UTF-8 is read. Convert it with a command: iconv -f UTF-16 -t UTF-8." });
  });
  test("reads what was kept for the thread, in the same way", async () => {
    const place = world({});
    const output = Buffer.from("one\ntwo\0\nthree\n");
    const path = `blob:${sha256(output)}`;
    expect(await run("read_file", { path, offset: 2, limit: 1 }, place, { earlier: [output] })).toMatchObject({ status: "done", output: "2\ttwo\0\n[… more lines follow: go on with offset 3 …]" });
    expect(await run("read_file", { path }, place)).toMatchObject({ status: "failed", output: `Nothing was kept as ${path} in this thread. Take the name from the note in the output that was cut.` });
    expect(await run("read_file", { path: `blob:${sha256(PNG)}` }, place, { earlier: [PNG] })).toMatchObject({ status: "failed", output: `blob:${sha256(PNG)} is a PNG image, ${PNG.length} bytes, and not a text.` });
  });
  test("numbers and notes count as output, so that nobody needs to cut it again", async () => {
    const place = world({ "short": "x\n".repeat(5000), "long": `${"y".repeat(5000)}\n`.repeat(100) });
    for (const path of ["short", "long"]) {
      for (const outputTokens of [10, 500, 10_000]) {
        const { text } = await run("read_file", { path, limit: 5000 }, place, { options: { outputTokens } });
        expect(text.length).toBeLessThanOrEqual(outputTokens * 4 + 200);
        const shown = text.split("\n").length - 1;
        expect(text.endsWith(`[… more lines follow: go on with offset ${shown + 1} …]`) || (path === "short" && shown === 4999)).toBe(true);
      }
    }
  });
  test("refuses what is not there or not a file, without hanging", async () => {
    const place = world({ "dir/": "" });
    execFileSync(MKFIFO, [join(place.cwd, "fifo")]);
    symlinkSync("nowhere", join(place.cwd, "broken"));
    symlinkSync("self", join(place.cwd, "self"));
    const told = async (path: string): Promise<string> => (await run("read_file", { path }, place)).text;
    expect(await Promise.all(["nope", "dir", "fifo", "broken", "self", "dir/x/y"].map(told))).toEqual([
      "nope does not exist.",
      "dir is a folder.",
      "fifo is not a file but a device, pipe or socket.",
      "broken is a symbolic link that leads nowhere.",
      "self goes through too many symbolic links.",
      "dir/x/y does not exist.",
    ]);
  });
  test("an interrupt ends it", async () => {
    expect(await run("read_file", { path: "a" }, world({ "a": "1\n" }), { signal: AbortSignal.abort() })).toMatchObject({ status: "failed", output: "Interrupted." });
  });
});

describe("what can be seen in the sandbox", () => {
  const HIDDEN = "is hidden in this sandbox";

  test("Skein's home is hidden, its skills are not, also through links", async () => {
    const place = world();
    put(join(place.home, "config.toml"), "mine\n");
    put(join(place.home, "skills/a/SKILL.md"), "skill\n");
    symlinkSync(place.home, join(place.cwd, "link"));
    for (const sandbox of ["read-only", "workspace-write"] as const) {
      for (const path of [join(place.home, "config.toml"), "link/config.toml", "../home/./skills/../config.toml"]) {
        expect(await run("read_file", { path }, place, { sandbox })).toMatchObject({ status: "failed", output: `${path} ${HIDDEN}.`, denied: { what: `${path} ${HIDDEN}`, path } });
      }
      expect((await run("list_dir", { path: "link" }, place, { sandbox })).text).toBe(`link ${HIDDEN}.`);
      expect((await run("grep", { pattern: "mine", path: "link" }, place, { sandbox })).text).toBe(`link ${HIDDEN}.`);
      expect((await run("read_file", { path: "link/skills/a/SKILL.md" }, place, { sandbox })).text).toBe("1\tskill");
    }
    expect((await run("read_file", { path: "link/config.toml" }, place, { sandbox: "danger-full-access" })).text).toBe("1\tmine");
  });

  test.runIf(process.platform === "linux")("the system's own and root's secrets are hidden", async () => {
    const place = world();
    const paths = ["/proc/self/environ", "/proc/self/root/proc/self/environ", "/dev/null", "/run/x", ...(process.getuid?.() === 0 ? ["/etc/shadow"] : [])];
    for (const path of paths) expect((await run("read_file", { path }, place)).text).toBe(`${path} ${HIDDEN}.`);
    expect((await run("read_file", { path: "/etc/passwd", limit: 1 }, place)).status).toBe("done");
  });

  test.runIf(process.platform === "linux")("/tmp is the private one of commands, and in read-only there is none", async () => {
    const place = world();
    put(join(scratch().tmp, "seen.txt"), "from a command\n");
    expect((await run("read_file", { path: "/tmp/seen.txt" }, place)).text).toBe("1\tfrom a command");
    expect((await run("grep", { pattern: "command", path: "/tmp" }, place)).text).toContain("/tmp/seen.txt:1:from a command");
    expect((await run("read_file", { path: "/tmp/seen.txt" }, place, { sandbox: "read-only" })).text).toBe(`/tmp/seen.txt ${HIDDEN}.`);
  });

  test("a folder that is seen shows names of hidden ones, and not what is in them", async () => {
    const place = world();
    put(join(place.home, "config.toml"), "mine\n");
    const listed = await run("list_dir", { path: "..", depth: 3 }, place);
    expect(listed.text).toBe("home/\noutside/\nworkspace/");
    for (const sandbox of ["read-only", "workspace-write"] as const) expect((await run("grep", { pattern: "mine", path: "..", include_ignored: true }, place, { sandbox })).text).toBe("No line matches.");
    expect((await run("glob", { pattern: "*.toml", path: ".." }, place)).text).toBe("No file matches.");
    expect((await run("glob", { pattern: "*.toml", path: ".." }, place, { sandbox: "danger-full-access" })).text).toBe("../home/config.toml");
  });
});

describe("list_dir", () => {
  test("lists sorted, with what each entry is", async () => {
    const place = world({ "b.txt": "", "a/x/y/z": "", "a.txt": "", ".hidden": "", "c/": "" });
    symlinkSync("b.txt", join(place.cwd, "link"));
    execFileSync(MKFIFO, [join(place.cwd, "fifo")]);
    expect(await run("list_dir", {}, place)).toMatchObject({ status: "done", output: ".hidden\na/\na.txt\nb.txt\nc/\nfifo|\nlink -> b.txt" });
    expect((await run("list_dir", { path: ".", depth: 3 }, place)).text).toBe(".hidden\na/\na/x/\na/x/y/\na.txt\nb.txt\nc/\nfifo|\nlink -> b.txt");
    expect((await run("list_dir", { dir_path: "c" }, place)).text).toBe("c is empty.");
  });
  test("keeps the limit, upper levels first", async () => {
    const place = world({ "a/1": "", "a/2": "", "b": "", "c": "" });
    expect((await run("list_dir", { depth: 2, limit: 4 }, place)).text).toBe("a/\na/1\nb\nc\n[… there are more: the limit was 4 …]");
    expect((await run("list_dir", { depth: 2, limit: 5 }, place)).text).toBe("a/\na/1\na/2\nb\nc");
  });
  test("refuses what is no folder", async () => {
    const place = world({ "a": "" });
    expect((await run("list_dir", { path: "a" }, place)).text).toBe("a is not a folder.");
    expect((await run("list_dir", { path: "nope" }, place)).text).toBe("nope does not exist.");
  });
});
