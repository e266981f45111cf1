/**
 * Watchdog: ends commands when this process dies, however it dies. One small shell for the whole process, started with the first
 * command that no sandbox ties to us. It reads `+ GROUP MARK` when a command starts and `- GROUP MARK` when it has ended; before it starts,
 * GROUP is `-`. The end of its input means that we are gone, and it kills the groups that are left, every process that carries their mark,
 * and what these started (tree.ts does the same while we live).
 */
import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { coverInherited } from "./descriptors.ts";
import { MARK_VARIABLE } from "./mark.ts";

const SCRIPT = `
live=' '
while read -r what group mark; do
  case $what in
    +) live="$live$group:$mark " ;;
    -) case $live in *" $group:$mark "*) live="\${live%%" $group:$mark "*} \${live#*" $group:$mark "}" ;; esac ;;
  esac
done
case $live in *' -:'*) sleep 0.1 ;; esac
for each in $live; do
  group=\${each%%:*}
  found=' '
  for file in $(grep -l -s -a -F -e "${MARK_VARIABLE}=\${each#*:}" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    found="$found\${pid%/environ} "
  done
  more=yes
  while [ "$more" ]; do
    more=
    for file in /proc/[0-9]*/stat; do
      read -r stat <"$file" || continue
      pid=\${stat%% *}
      case $found in *" $pid "*) continue ;; esac
      set -- \${stat##*) }
      case "$3 $found" in "$group "* | *" $2 "*) found="$found$pid " more=yes ;; esac
    done
  done
  [ "$group" = - ] || kill -s KILL -- "-$group"
  kill -s KILL -- $found
done 2>/dev/null
`;

export interface Watched {
  /** It leads this group. */
  started(group: number): void;
  release(): void;
}

let input: Writable | null = null;

/** For a command that is going to be started. */
export function watch(mark: string): Watched {
  const dog = (input ??= start());
  let group: number | "-" = "-";
  dog.write(`+ - ${mark}\n`);
  return {
    started(known) {
      group = known;
      dog.write(`+ ${known} ${mark}\n- - ${mark}\n`);
    },
    release: () => void dog.write(`- ${group} ${mark}\n`),
  };
}

function start(): Writable {
  const child = spawn("/bin/sh", ["-c", SCRIPT, "skein-watchdog"], {
    cwd: "/",
    detached: true,
    env: { PATH: "/usr/bin:/bin" },
    stdio: coverInherited<never>(["pipe", "ignore", "ignore"]),
  });
  const gone = (): void => void (input = null);
  child.on("error", gone).on("exit", gone).unref();
  const pipe = child.stdin as Writable & { unref(): void };
  pipe.on("error", gone);
  pipe.unref();
  return pipe;
}
