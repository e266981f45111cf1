/** Trusting: the trust of one home, as commands and front ends use it. */
import { dirname } from "node:path";
import { realOrSame } from "./home.ts";
import { findProject } from "./project.ts";
import { lookAtProject, type Looked } from "./project-look.ts";
import { forgetProject, isTrusted, readTrust, trustProject, trustServer, type Recorded } from "./trust.ts";

/** `current`: its config is still the one that was said yes to. */
export interface ListedProject {
  root: string;
  current: boolean;
  servers: number;
}

export function createTrusting({ home, env }: { home: string; env: Readonly<Record<string, string | undefined>> }) {
  return {
    look: (folder: string): Promise<Looked> => lookAtProject({ home, folder, env }),

    /** Says yes to a project as it was looked at, with its servers. */
    record({ root, hash, servers }: { root: string; hash: string; servers: readonly string[] }): Recorded {
      const recorded = trustProject(home, { root, hash });
      for (const server of servers) trustServer(home, { root, hash: server });
      return recorded;
    },

    /** The nearest folder from this one up that something is recorded for; null: there is none. */
    forget(folder: string): string | null {
      const { trust } = readTrust(home);
      for (let root = realOrSame(folder); ; root = dirname(root)) {
        if (trust.has(root)) return forgetProject(home, root) ? root : null;
        if (dirname(root) === root) return null;
      }
    },

    async list(): Promise<{ projects: ListedProject[]; problem: string | null }> {
      const { trust, problem } = readTrust(home);
      const recorded = (root: string, hash: string) => isTrusted(trust, { root, hash });
      const projects = await Promise.all(
        [...trust].map(async ([root, { servers }]) => {
          const found = await findProject({ cwd: root, home, mode: "interactive", listed: new Map(), recorded });
          return { root, current: found.ok && found.project.trusted, servers: servers.length };
        }),
      );
      return { projects, problem };
    },
  };
}
