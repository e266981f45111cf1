// The suites of test/, in the order in which they run: one after another, so that those which kill, time or fill up
// things do not disturb the others. A test file belongs to the suite named like its folder under test/; every other
// folder is "unit".

const FOLDERS = ["tools", "crash", "e2e", "tooling"];

/** @type {{ name: string, include: string[], exclude: string[] }[]} */
export const SUITES = [
  { name: "unit", include: ["test/**/*.test.ts"], exclude: FOLDERS.map((folder) => `test/${folder}/**`) },
  ...FOLDERS.map((folder) => ({ name: folder, include: [`test/${folder}/**/*.test.ts`], exclude: [] })),
];

/** @param {string} path relative to the repository */
export function suiteOf(path) {
  const folder = path.split("/")[1] ?? "";
  return FOLDERS.includes(folder) ? folder : "unit";
}
