/**
 * Which proxy a request goes through, by the environment: HTTPS_PROXY for https, HTTP_PROXY for http, ALL_PROXY for both, in either
 * case of letters (the lower one wins, as with curl), and NO_PROXY for exceptions. Servers on this very machine are always reached
 * directly: a proxy elsewhere could not reach them. A value that names no proxy that can be used is an error: going around it is nobody's wish.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Proxy {
  url: URL;
  /** The variable that names it. */
  variable: string;
}

/** What is wrong with a proxy. The message is for people and holds none of its credentials; `code`: PROXY_UNUSABLE, PROXY_UNREACHABLE or PROXY_REFUSED. */
export class ProxyProblem extends Error {
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProxyProblem";
    this.code = code;
  }
}

export function proxyFor(url: URL, env: Environment): Proxy | null {
  const named = spelt(env, url.protocol === "https:" ? "https_proxy" : "http_proxy") ?? spelt(env, "all_proxy");
  if (named === null || isLocal(url.hostname) || isExempt(url, valueOf(env, spelt(env, "no_proxy") ?? ""))) return null;
  const value = valueOf(env, named);
  const text = value.includes("://") ? value : `http://${value}`;
  if (!URL.canParse(text)) throw new ProxyProblem("PROXY_UNUSABLE", `What ${named} holds is not the address of a proxy.`);
  const proxy = new URL(text);
  if (proxy.protocol !== "http:" && proxy.protocol !== "https:") throw new ProxyProblem("PROXY_UNUSABLE", `${named} names a proxy of the kind ${proxy.protocol}//, which is not supported; use one of http:// or https://.`);
  return { url: proxy, variable: named };
}

export function unreachable({ url, variable }: Proxy, error: NodeJS.ErrnoException): Error {
  return new ProxyProblem("PROXY_UNREACHABLE", `The proxy ${url.host}, which ${variable} names, cannot be reached (${error.code ?? error.message}).`, { cause: error });
}

/** As it is spelt in the environment; null when it is not set. */
function spelt(env: Environment, name: string): string | null {
  return [name, name.toUpperCase()].find((each) => valueOf(env, each) !== "") ?? null;
}

function valueOf(env: Environment, name: string): string {
  return env[name]?.trim() ?? "";
}

function isLocal(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || /^127\.\d+\.\d+\.\d+$/u.test(hostname) || hostname === "[::1]";
}

/** Entries are names (also of parent domains, with or without a leading dot), addresses, `*`, each with an optional port. */
function isExempt(url: URL, list: string): boolean {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const host = url.hostname.replace(/^\[|\]$/gu, "").toLowerCase();
  return list
    .toLowerCase()
    .split(/[\s,]+/u)
    .some((entry) => {
      if (entry === "*") return true;
      const [, bracketed, plain, wanted] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/u.exec(entry) ?? [];
      const name = (bracketed ?? plain ?? entry).replace(/^\*?\./u, "");
      if (name === "" || (wanted !== undefined && wanted !== port)) return false;
      return host === name || host.endsWith(`.${name}`);
    });
}
