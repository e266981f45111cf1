/** `skein/embed`: an agent in your own program, with tools of your own. */
export { open, type OpenOptions } from "./open.ts";
export { tool, type ArgumentsSchema, type OwnTool } from "./tool.ts";
export { ConfigurationError } from "./configuration.ts";
export type { Connected } from "../client/wish.ts";
export type { Assessment, Tool, ToolHost, ToolOutcome } from "../core/tool.ts";
