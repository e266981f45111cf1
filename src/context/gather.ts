/**
 * Gather: what the model is told beside the conversation, as it is now. The same files and settings give the same bytes, and each part
 * depends on its own sources only: what did not change need not be sent again.
 */
import type { ContextPart } from "../core/context.ts";
import type { ToolSpec } from "../core/tool.ts";
import type { Settings } from "../protocol/record.ts";
import { agentsText } from "./agents.ts";
import { environmentText } from "./environment.ts";
import { instructions } from "./instructions.ts";
import { repositoryFolders } from "./repository.ts";
import { findSkills, skillsText, type Skill } from "./skills.ts";

/** Codex's default of `project_doc_max_bytes`. */
const AGENTS_BYTES = 32_768;

export interface Gathering {
  settings: Settings;
  /** Skein's own folder, and the user's. */
  home: string;
  userHome: string;
  /** The user trusts the repository: its skills count. */
  trusted: boolean;
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  tools: readonly ToolSpec[];
  /** A text begins with the date. */
  now: Date | string;
  /** Counts before `developer_instructions` of the settings. */
  developerInstructions?: string;
}

export interface Gathered {
  instructions: string;
  /** Always in the same order; a part with nothing to say is left out. */
  parts: ContextPart[];
  warnings: string[];
  skills: Skill[];
}

export async function gatherContext(given: Gathering): Promise<Gathered> {
  const { settings, tools } = given;
  const { developer_instructions: said, project_doc_max_bytes: limit } = settings;
  const agents = agentsText({ home: given.home, folders: repositoryFolders(settings.cwd), limit: typeof limit === "number" ? limit : AGENTS_BYTES });
  const { skills, warnings } = findSkills({ ...given, cwd: settings.cwd });
  const parts: ContextPart[] = [
    { key: "developer", role: "developer", text: given.developerInstructions ?? (typeof said === "string" ? said : "") },
    { key: "agents_md", role: "user", text: agents.text },
    { key: "skills", role: "user", text: skillsText(skills) },
    { key: "environment", role: "user", text: environmentText(given) },
  ];
  return { instructions: instructions(tools), parts: parts.filter(({ text }) => text.trim() !== ""), warnings: [...agents.warnings, ...warnings], skills };
}
