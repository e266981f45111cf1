import type { Settings } from "../protocol/record.ts";
import { EXIT, UserError, type Connected } from "./shell.ts";

/** What the command line changes in a thread that is resumed. Another provider needs a model of its own. */
export function changesOf({ changes, problem }: Pick<Connected, "changes" | "problem">, current: Settings): Partial<Settings> {
  const changed = changes(current);
  const { model_provider: provider, model } = changed;
  if (provider === undefined || model !== undefined || problem === null) return changed;
  throw new UserError(`The thread's model, ${current.model}, is one of ${current.model_provider}, and no model of ${provider} is known: add -m MODEL.`, EXIT.usage);
}
