/** The text of the macOS profile. It has not been run on a Mac. */
import { expect, test } from "vitest";
import { seatbeltArguments, seatbeltProfile, type SeatbeltPlan } from "../../../src/tools/sandbox/seatbelt.ts";

const plan: SeatbeltPlan = { mode: "workspace-write", roots: ["/Users/u/w", "/Users/u/o\")"], home: "/Users/u/.skein", tmp: "/private/tmp/s", network: false };

const lines = (given: Partial<SeatbeltPlan>): string[] => seatbeltProfile({ ...plan, ...given }).split("\n");

test("everything is denied first, Skein's home last", () => {
  expect(lines({}).slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
  expect(lines({}).slice(-2)).toEqual(['(deny file-read* file-write* (subpath (param "HOME")))', '(allow file-read* (subpath (param "SKILLS")))']);
});

test("roots are writable but for what is protected in them, existing or not", () => {
  expect(lines({}).filter((line) => line.includes("ROOT_"))).toEqual(
    [0, 1].map(
      (root) =>
        `(allow file-write* (require-all (subpath (param "ROOT_${root}")) ${[0, 1, 2, 3].map((name) => `(require-not (subpath (param "KEPT_${root}_${name}")))`).join(" ")}))`,
    ),
  );
});

test("read-only has no root", () => {
  expect(lines({ mode: "read-only" }).filter((line) => line.includes("ROOT_"))).toEqual([]);
});

test("the network is IP only, and only when it is allowed", () => {
  expect(seatbeltProfile(plan)).not.toContain("network");
  expect(seatbeltProfile({ ...plan, network: true })).toContain("(allow network-outbound (remote ip))");
});

test("paths are parameters: no name can change the profile", () => {
  expect(seatbeltProfile(plan)).not.toContain("/Users");
  const args = seatbeltArguments(plan, ["bash", "-c", "ls"]);
  expect(args.slice(2)).toEqual([
    ...["-D", "TMP=/private/tmp/s", "-D", "HOME=/Users/u/.skein", "-D", "SKILLS=/Users/u/.skein/skills"],
    ...["-D", "ROOT_0=/Users/u/w"],
    ...[".git", ".skein", ".agents", ".codex"].flatMap((name, index) => ["-D", `KEPT_0_${index}=/Users/u/w/${name}`]),
    ...["-D", 'ROOT_1=/Users/u/o")'],
    ...[".git", ".skein", ".agents", ".codex"].flatMap((name, index) => ["-D", `KEPT_1_${index}=/Users/u/o")/${name}`]),
    ...["--", "bash", "-c", "ls"],
  ]);
});

test("parentheses of the profile are balanced", () => {
  for (const given of [plan, { ...plan, network: true }, { ...plan, mode: "read-only" as const }]) {
    const text = seatbeltProfile(given);
    expect(text.split("(").length).toBe(text.split(")").length);
  }
});
