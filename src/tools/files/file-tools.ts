/** The tools that read and change files, and the plan. */
import type { Tool } from "../../core/tool.ts";
import { applyPatch } from "../patch/tool.ts";
import { glob } from "./glob.ts";
import { grep } from "./grep.ts";
import { listDir } from "./list-dir.ts";
import type { FileToolOptions } from "./options.ts";
import { readFile } from "./read-file.ts";
import { updatePlan } from "./update-plan.ts";
import { viewImage } from "./view-image.ts";

export function fileTools(options: FileToolOptions): readonly Tool[] {
  return [applyPatch(options), readFile(options), listDir(options), grep(options), glob(options), viewImage(options), updatePlan()];
}
