/** A home and a repository of real files, and gathering from them. Paths are shown as HOME, USER and REPO, so that texts can be compared. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { gatherContext, type Gathered, type Gathering } from "../../src/context/gather.ts";
import type { Settings } from "../../src/protocol/record.ts";

export interface World {
  root: string;
  home: string;
  user: string;
  repo: string;
  write(path: string, content: string | Uint8Array): string;
  gather(more?: Partial<Omit<Gathering, "settings">> & { settings?: Partial<Settings> }): Promise<Gathered>;
  /** With the folders of the test replaced by their names. */
  short(text: string): string;
}

/** Files by their paths: `home/…`, `user/…`, `repo/…`. */
export function createWorld(files: Record<string, string | Uint8Array> = {}): World {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-context-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, user, repo] = ["home", "user", "repo"].map((name) => join(root, name)) as [string, string, string];
  const write = (path: string, content: string | Uint8Array): string => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  mkdirSync(join(repo, ".git"), { recursive: true });
  for (const [path, content] of Object.entries(files)) write(path, content);
  return {
    root,
    home,
    user,
    repo,
    write,
    short: (text) => text.replaceAll(repo, "REPO").replaceAll(home, "HOME").replaceAll(user, "USER").replaceAll(root, "ROOT"),
    gather: ({ settings, ...more } = {}) =>
      gatherContext({
        settings: { model: "m", model_provider: "p", cwd: repo, approval_policy: "on-request", sandbox_mode: "workspace-write", ...settings },
        home,
        userHome: user,
        trusted: true,
        env: { PATH: "/usr/bin:/bin" },
        platform: "linux",
        tools: [],
        now: "2026-01-31T23:59:59.999Z",
        ...more,
      }),
  };
}

export const textOfPart = ({ parts }: Gathered, key: string): string => parts.find((part) => part.key === key)?.text ?? "";

export const skill = (name: string, description = `About ${name}.`, body = `Do ${name}.`): string => `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`;
