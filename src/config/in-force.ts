/** In force: what `skein config` shows beside what is written: the model that is chosen where none is named, and what exec has otherwise. Pure. */
import type { Choice } from "./choose.ts";
import type { Row } from "./describe.ts";

/** A row, and what `skein exec` has in its place where that differs. */
export type RowInForce = Row & { exec?: Pick<Row, "value" | "origin"> };

export function rowsInForce(given: { rows: readonly Row[]; exec: readonly Row[]; choice: Choice }): RowInForce[] {
  const { choice } = given;
  const inExec = new Map(given.exec.map((row) => [row.key, row]));
  return given.rows.map((row) => {
    const other = inExec.get(row.key) ?? { value: null, origin: "not set" };
    const shown = chosen(row, choice);
    return JSON.stringify(other.value) === JSON.stringify(row.value) ? shown : { ...shown, exec: { value: other.value, origin: other.origin } };
  });
}

function chosen(row: Row, choice: Choice): Row {
  if (row.value !== null || (row.key !== "model" && row.key !== "model_provider")) return row;
  if (choice.kind === "model") return { ...row, value: choice[row.key], origin: `chosen: ${choice.because}` };
  return row.key === "model" ? { ...row, origin: choice.kind === "incomplete" ? choice.message : "not set, and no model was found" } : row;
}

/** For people: the origin, and what exec has. */
export function originInForce({ origin, exec }: RowInForce): string {
  return exec === undefined ? origin : `${origin}; skein exec: ${exec.value === null ? "not set" : JSON.stringify(exec.value)}, ${exec.origin}`;
}
