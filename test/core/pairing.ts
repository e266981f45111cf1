/** The rule that every request obeys, checked on the items alone. */
import { isCall, isMessage, isOutput, isReasoning, type CallItem, type Item } from "../../src/protocol/item.ts";

/** Why a provider might refuse these items; empty when none would. */
export function faultsOf(items: readonly Item[]): string[] {
  const faults: string[] = [];
  let open: CallItem[] = [];
  let answered = 0;
  const close = (where: string) => {
    for (const call of open.slice(answered)) faults.push(`${where}: call ${call.call_id} has no output`);
    open = [];
    answered = 0;
  };
  items.forEach((item, index) => {
    const where = `item ${index}`;
    if (isOutput(item)) {
      const call = open[answered];
      if (!call) {
        faults.push(`${where}: output ${item.call_id} has no call`);
        return;
      }
      if (call.call_id !== item.call_id) faults.push(`${where}: output ${item.call_id} where ${call.call_id} is due`);
      if ((item.type === "custom_tool_call_output") !== (call.type === "custom_tool_call")) faults.push(`${where}: ${item.type} answers ${call.type}`);
      if (typeof item.output !== "string" && !Array.isArray(item.output)) faults.push(`${where}: output without content`);
      answered += 1;
      return;
    }
    if (answered > 0) close(where);
    if (isCall(item)) {
      if (open.some((other) => other.call_id === item.call_id)) faults.push(`${where}: call ${item.call_id} twice in one batch`);
      open.push(item);
    } else if (isMessage(item)) {
      if (!["user", "assistant", "developer"].includes(item.role)) faults.push(`${where}: role ${item.role}`);
      if (item.content.length === 0) faults.push(`${where}: message without content`);
    } else if (!isReasoning(item) && item?.type !== "web_search_call") faults.push(`${where}: unknown kind ${JSON.stringify(item)}`);
  });
  close("the end");
  return faults;
}
