/** Paths beside the model endpoints: what clients ask to find out whether a server, and which model, is there. */
import type { ServerResponse } from "node:http";
import type { RecordedRequest } from "./script.ts";

const model = "scripted";

const answers: Readonly<Record<string, object>> = {
  "/v1/models": { object: "list", data: [{ id: model, object: "model", created: 0, owned_by: "skein" }] },
  "/api/tags": { models: [{ name: model, model, size: 0, digest: "", details: { family: "scripted" } }] },
  "/api/version": { version: "0.0.0-scripted" },
  "/health": { status: "ok" },
};

export function answerOther(request: RecordedRequest, response: ServerResponse): void {
  const found = request.method === "GET" ? answers[request.path.split("?")[0] ?? ""] : undefined;
  response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
  response.end(JSON.stringify(found ?? { error: { message: `Invalid URL (${request.method} ${request.path})`, type: "invalid_request_error", param: null, code: null } }));
}
