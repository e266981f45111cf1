/** A process that uses the index as a command would. Arguments: what to do, home, thread (or how and when to leave). Prints one line of JSON. */
import { openIndex } from "../../../src/stores/file/index/open.ts";

const [what, home, thread] = process.argv.slice(2) as [string, string, string];
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
process.umask(0);
const index = openIndex({ home });

switch (what) {
  case "catch-up": {
    const complete = await index.catchUp({ onProgress: (progress) => say({ progress }) });
    say({ complete });
    await index.close();
    break;
  }
  case "touch":
    index.touched(thread);
    say("touched");
    break;
  case "list":
    say((await index.list({})).items.length);
    break;
  case "leave": {
    const [how, ms] = thread.split(" ") as [string, string];
    say((await index.list({})).items.length);
    setTimeout(() => void (how === "exit" ? process.exit(0) : how === "close" ? index.close() : null), Number(ms));
    break;
  }
  case "linger":
    index.touched(thread);
    say("touched");
    setTimeout(() => {}, 20_000);
    break;
  default:
    throw new Error(`what is ${what}?`);
}
