import * as fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { locate } from "../../src/config/locate.ts";
import { runs } from "./given.ts";

describe("the line of a key", () => {
  const TEXT = `# a comment with key = 1
model = "m"
a.b . "c d" = 1 # dotted

[history]
  persistence = "none"
[sandbox_workspace_write]
writable_roots = [
  "/a", # [not.a.table]
  "/b = ]",

  "/c"
]
network_access = true
[mcp_servers.'x.y']
command = """
[fake]
model = "not here"
"""
env = { A = "1", B = { C = [1, { D = "}" }] } }
[mcp_servers."x.y".deep]
k = 1
[[rules]]
argv_prefix = ["a"]
[[rules]]
decision = '''x
'quoted' ''''
[rules.sub]
z = 2001-01-01 10:00:00
[[rules.list]]
q = 1
[[rules.list]]
q = 2
["\\u0041 \\"q\\""]
v = inf
[late.inner]
w = 1
[late]
x = 1
`;
  const where: [string[], number][] = [
    [["model"], 2],
    [["a"], 3],
    [["a", "b"], 3],
    [["a", "b", "c d"], 3],
    [["history"], 5],
    [["history", "persistence"], 6],
    [["sandbox_workspace_write", "writable_roots"], 8],
    [["sandbox_workspace_write", "writable_roots", "0"], 9],
    [["sandbox_workspace_write", "writable_roots", "1"], 10],
    [["sandbox_workspace_write", "writable_roots", "2"], 12],
    [["sandbox_workspace_write", "network_access"], 14],
    [["mcp_servers"], 15],
    [["mcp_servers", "x.y"], 15],
    [["mcp_servers", "x.y", "command"], 16],
    [["mcp_servers", "x.y", "env", "A"], 20],
    [["mcp_servers", "x.y", "env", "B", "C", "1", "D"], 20],
    [["mcp_servers", "x.y", "deep", "k"], 22],
    [["rules"], 23],
    [["rules", "0"], 23],
    [["rules", "0", "argv_prefix"], 24],
    [["rules", "1"], 25],
    [["rules", "1", "decision"], 26],
    [["rules", "1", "sub", "z"], 29],
    [["rules", "1", "list", "0", "q"], 31],
    [["rules", "1", "list", "1"], 32],
    [["rules", "1", "list", "1", "q"], 33],
    [['A "q"', "v"], 35],
    [["late", "inner"], 36],
    [["late"], 38],
    [["late", "x"], 39],
  ];
  test("the text is TOML", () => {
    expect(Object.keys(parse(TEXT))).toEqual(["model", "a", "history", "sandbox_workspace_write", "mcp_servers", "rules", 'A "q"', "late"]);
  });
  test.each(where)("%j", (path, line) => {
    expect(locate(TEXT)(path)).toBe(line);
  });
  test("a key that is not there has the line of the table around it; without one, the first", () => {
    expect([locate(TEXT)(["history", "none"]), locate(TEXT)(["none"]), locate("")(["x"])]).toEqual([5, 1, 1]);
  });
  test("windows line ends and a byte order mark change nothing", () => {
    const line = locate(`\ufeff${TEXT.replaceAll("\n", "\r\n")}`);
    expect(where.map(([path]) => line(path))).toEqual(where.map(([, expected]) => expected));
  });
});

/** Random documents that know where their keys are. */
const word = fc.constantFrom("a", "b", "model", "x-1", "x.y", "", 'q"q', "it's", "[t]", "# no", "ü", "a = 1");
const inLine = fc.constantFrom('"s"', "'l'", '"# [x] = {"', "'\\'", '"\\"]"', "1", "-2.5e3", "true", "1979-05-27T07:32:00Z", "07:32:00", "[]", "{}", "0x1F");
const many = fc.constantFrom('"""\na = 1\n[x]\n"""', "'''\n]\n}\n'''", '"""\\\n  x"""', '"""""a"""""', "''''a'''");
type Value = { text: string } | { list: Value[]; gap: string } | { table: [string, Value][] };
const { value } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ text: fc.oneof(inLine, many) }),
    fc.record({ list: fc.array(tie("value"), { maxLength: 3 }), gap: fc.constantFrom("", "\n", " # ] , x = 1\n", "\n\n") }),
    fc.record({ table: fc.uniqueArray(fc.tuple(word, tie("value")), { maxLength: 3, selector: ([name]) => name }) }),
  ),
}));
const entries = fc.uniqueArray(fc.tuple(word, value, fc.constantFrom("", " # [c]", "\n")), { maxLength: 4, selector: ([name]) => name });
const documents = fc.uniqueArray(fc.record({ table: word, list: fc.boolean(), times: fc.integer({ min: 1, max: 3 }), entries }), { maxLength: 4, selector: ({ table }) => table });

function key(name: string): string {
  if (/^[\w-]+$/u.test(name)) return name;
  return name.includes("'") ? JSON.stringify(name) : `'${name}'`;
}

/** The text of the document and the line of each path. */
function print(document: (typeof documents extends fc.Arbitrary<infer T> ? T : never)): { text: string; lines: [string[], number][] } {
  let text = "";
  const lines: [string[], number][] = [];
  const note = (path: string[]) => void lines.push([path, text.split("\n").length]);
  const put = (path: string[], each: Value): void => {
    if ("text" in each) text += each.text;
    else if ("list" in each) {
      text += `[${each.gap}`;
      each.list.forEach((element, index) => {
        note([...path, String(index)]);
        put([...path, String(index)], element);
        text += `,${each.gap}`;
      });
      text += "]";
    } else {
      text += "{ ";
      each.table.forEach(([name, member], index) => {
        if (index > 0) text += ", ";
        note([...path, name]);
        text += `${key(name)} = `;
        put([...path, name], member);
      });
      text += " }";
    }
  };
  for (const { table, list, times, entries: all } of document) {
    for (let index = 0; index < (list ? times : 1); index++) {
      const path = list ? [table, String(index)] : [table];
      note(path);
      text += list ? `[[ ${key(table)} ]]\n` : `[${key(table)}]\n`;
      for (const [name, each, end] of all) {
        note([...path, name]);
        text += `${key(name)}\t=`;
        put([...path, name], each);
        text += `${end}\n`;
      }
    }
  }
  return { text, lines };
}

test("every key of any document is found where it was written", () => {
  fc.assert(
    fc.property(documents, (document) => {
      const { text, lines } = print(document);
      parse(text);
      const line = locate(text);
      expect(lines.map(([path]) => [path, line(path)])).toEqual(lines);
    }),
    runs(500),
  );
});

test("on any text it ends and does not throw", () => {
  const pieces = fc.array(fc.constantFrom("[", "]", "{", "}", "=", ".", ",", '"', "'", '"""', "'''", "#", "\n", "\r\n", " ", "\\", "a", "b.c", "1", "\ufeff"), { maxLength: 60 });
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: "binary" }), pieces.map((each) => each.join(""))),
      (text) => {
        expect(locate(text)(["a"])).toBeGreaterThan(0);
      },
    ),
    runs(2000),
  );
  expect(locate(`a = ${"[".repeat(50_000)}`)(["a"])).toBe(1);
});
