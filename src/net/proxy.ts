/**
 * Which proxy a request goes through, by the environment: HTTPS_PROXY for https, HTTP_PROXY for http, ALL_PROXY for both, in either
 * case of letters (the lower one wins, as with curl), and NO_PROXY for exceptions. Servers on this very machine are always reached
 * directly: a proxy elsewhere could not reach them.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

export function proxyFor(url: URL, env: Environment): URL | null {
  const named = url.protocol === "https:" ? "https_proxy" : "http_proxy";
  const value = variable(env, named) ?? variable(env, "all_proxy");
  if (value === undefined || isLocal(url.hostname) || isExempt(url, variable(env, "no_proxy") ?? "")) return null;
  const text = value.includes("://") ? value : `http://${value}`;
  return URL.canParse(text) ? new URL(text) : null;
}

function variable(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || env[name.toUpperCase()]?.trim() || undefined;
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
