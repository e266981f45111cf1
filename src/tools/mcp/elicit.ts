/**
 * Elicit: a question of a server to the user, through the call that it belongs to. Servers do not say which that is: it is the last one,
 * unless several threads wait for the server. One question at a time; what cannot be asked is declined.
 */
import type { Json } from "../../protocol/json.ts";
import type { ToolHost } from "../../core/tool.ts";
import type { Wants } from "./connect.ts";
import type { Deadline } from "./deadline.ts";
import { isObject } from "./listing.ts";

const LONGEST_QUESTION = 4000;
const LARGEST_FORM = 20_000;

/** A call that waits for its answer. The time that the user takes does not count against its deadline. */
export interface Running {
  host: ToolHost;
  deadline: Deadline;
  asking: boolean;
}

type Elicited = Awaited<ReturnType<Wants["elicit"]>>;

export async function elicit(server: string, running: ReadonlySet<Running>, { message, requestedSchema: schema }: Parameters<Wants["elicit"]>[0]): Promise<Elicited> {
  const call = [...running].at(-1);
  const isClear = [...running].every(({ host }) => host.thread === call?.host.thread);
  if (!call || call.asking || !isClear || JSON.stringify(schema).length > LARGEST_FORM) return { action: "decline" };
  call.asking = true;
  call.deadline.pause();
  try {
    return read(await call.host.ask({ kind: "elicitation", server, message: message.slice(0, LONGEST_QUESTION), schema: schema as unknown as Json }));
  } catch {
    return { action: "cancel" };
  } finally {
    call.asking = false;
    if (running.has(call)) call.deadline.resume();
  }
}

/** Only an outright "accept" is one. */
function read(answer: Json): Elicited {
  if (!isObject(answer) || answer["action"] !== "accept") return { action: isObject(answer) && answer["action"] === "cancel" ? "cancel" : "decline" };
  return { action: "accept", content: (isObject(answer["content"]) ? answer["content"] : {}) as Record<string, string> };
}
