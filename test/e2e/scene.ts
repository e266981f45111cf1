/** A scripted model server and a world that uses it, for one test; both are gone when it ends. */
import { onTestFinished } from "vitest";
import { startModelServer, type ModelServer, type ModelServerOptions } from "../model-server/server.ts";
import type { Script } from "../model-server/script.ts";
import { createWorld, type World } from "./skein.ts";

export interface Scene {
  server: ModelServer;
  world: World;
}

export async function scene(script: Script, given: Omit<ModelServerOptions, "script"> & { env?: Record<string, string> } = {}): Promise<Scene> {
  const { env = {}, ...options } = given;
  const server = await startModelServer({ script, wire: "responses", ...options });
  const world = createWorld({ modelServer: server.url, env });
  onTestFinished(async () => {
    await server.close();
    world.remove();
  });
  return { server, world };
}

/** What a request holds without what the model is told beside the conversation. */
export function conversation<T>(input: readonly T[]): T[] {
  return input.filter((item) => !/<(?:environment|skills|agents_md)/u.test(JSON.stringify(item)));
}
