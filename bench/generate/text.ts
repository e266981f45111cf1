/**
 * Text to fill sessions with: cut from pools that are made once, so that making a gigabyte costs no more than copying it.
 *
 * Words follow Zipf's law over 20,000 of them, as in people's writing: a few are in every message, most are rare. Output of
 * commands has paths, numbers, hex and the quotes, tabs and backslashes that JSON must escape. One message in twenty is in a
 * script that takes more than a byte a character.
 */
import { createRandom, type Random } from "./random.ts";

export interface Pools {
  prose(length: number, random: Random): string;
  /** Prose beyond Latin-1. */
  foreign(length: number, random: Random): string;
  /** What commands print and files hold. */
  output(length: number, random: Random): string;
  /** Encrypted content. */
  base64(length: number, random: Random): string;
}

const POOL = 2 * 1024 * 1024;
const WORDS = 20_000;

/** Words that people of this trade use, the most frequent first; the rest of the 20,000 is made of syllables. */
const TRADE =
  "the to a of in and is it for that on we with this be as not are should when from test file error function have or if at by an but return type value which call was no can read write build run fix all change new line so use more than state log first add one there does only list after before into them session index name path time where open server client request response cache store record turn message token model prompt fork rewind resume compact user output input command sandbox";
const SYLLABLES = "ka re mi lo tan ver si on dra pel cor in ax quo ber lan tis mo ra sun ex pra to ni fel gar wen du shi".split(" ");
const FOREIGN = "größe übersicht änderung prüfen façade naïve déjà café señal données système 文件 测试 错误 日志 保存 会话 ログ 保存 再開 テスト ошибка журнал сессия проверка 🙂 ✅".split(" ");

let pools: Pools | null = null;

export function textPools(): Pools {
  pools ??= makePools();
  return pools;
}

function makePools(): Pools {
  const random = createRandom(20_260_131);
  const words = vocabulary(random);
  const prose = fill(() => sentence(() => pick(words, random)));
  const foreign = fill(() => sentence(() => (random.chance(0.5) ? FOREIGN[random.whole(0, FOREIGN.length)]! : pick(words, random))));
  const output = fill(() => outputLine(words, random));
  const secret = Buffer.from(Array.from({ length: (POOL / 4) * 3 }, () => random.whole(0, 256))).toString("base64");
  return {
    prose: (length, by) => atWord(prose, length, by),
    foreign: (length, by) => atWord(foreign, length, by),
    output: (length, by) => atWord(output, length, by),
    base64: (length, by) => cut(secret, by.whole(0, secret.length - 1), length),
  };
}

function vocabulary(random: Random): string[] {
  const words = TRADE.split(" ");
  const known = new Set(words);
  while (words.length < WORDS) {
    let word = "";
    for (let syllables = random.whole(2, 5); syllables > 0; syllables--) word += SYLLABLES[random.whole(0, SYLLABLES.length)]!;
    if (!known.has(word)) words.push(word);
    known.add(word);
  }
  return words;
}

/** By Zipf's law the logarithm of the rank is about evenly spread. */
function pick(words: readonly string[], random: Random): string {
  return words[Math.floor(Math.exp(random.unit() * Math.log(words.length))) - 1]!;
}

function sentence(word: () => string): string {
  let text = "";
  const length = 4 + (word().length % 14);
  for (let count = 0; count < length; count++) text += `${count > 0 ? " " : ""}${word()}`;
  return `${text[0]!.toUpperCase()}${text.slice(1)}${length % 7 === 0 ? ".\n\n" : ". "}`;
}

function outputLine(words: readonly string[], random: Random): string {
  const word = () => pick(words, random);
  const path = `src/${word()}/${word()}.ts`;
  switch (random.whole(0, 6)) {
    case 0:
      return `${path}:${random.whole(1, 900)}:${random.whole(1, 80)}: ${word()} ${word()} '${word()}' is not assignable to "${word()}"\n`;
    case 1:
      return `  const ${word()} = ${word()}(${word()}, { ${word()}: "${word()}", ${word()}: ${random.whole(0, 5000)} });\n`;
    case 2:
      return `\tif (${word()} !== ${word()}) return ${word()}.${word()}(\`${word()}\\n\`);\n`;
    case 3:
      return `  ok ${word()} ${word()} ${word()} ${random.whole(1, 400)} ms\n`;
    case 4:
      return `${random.hex(8)} ${path} | ${random.whole(1, 200)} ${"+".repeat(random.whole(1, 30))}\n`;
    default:
      return `[${word()}] ${word()} ${word()} ${word()} at ${path} (${random.hex(7)})\n`;
  }
}

function fill(part: () => string): string {
  const parts: string[] = [];
  for (let length = 0; length < POOL; ) {
    const next = part();
    parts.push(next);
    length += next.length;
  }
  return parts.join("");
}

function atWord(pool: string, length: number, random: Random): string {
  const start = pool.indexOf(" ", random.whole(0, pool.length - 1000)) + 1;
  return cut(pool, start, length);
}

/** So much from there, going round. */
function cut(pool: string, start: number, length: number): string {
  let text = pool.slice(start, start + length);
  while (text.length < length) text += pool.slice(0, length - text.length);
  return text;
}
