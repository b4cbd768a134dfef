import type { HttpAnswer, HttpCall } from './guarded-http.js';

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** All that another origin gets: which other headers carry a secret (`x-api-key` …) cannot be known. */
const FOR_EVERYONE = new Set(['accept', 'accept-language', 'content-type', 'idempotency-key', 'user-agent']);
const OF_THE_BODY = new Set(['content-type', 'content-encoding', 'content-language', 'content-location']);

/**
 * The request that an answer sends on to.
 * @param call - what was asked.
 * @param answer - what came back.
 * @returns the next request; undefined when the answer is no redirect, or one that cannot be followed: without an address
 * that can be read, or from https to less.
 */
export function redirected(call: HttpCall, { status, headers }: HttpAnswer): HttpCall | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined || !URL.canParse(location, call.url.href))
    return undefined;
  const url = new URL(location, call.url);
  // What was on its way over https must not go on in the clear because a server says so.
  if (call.url.protocol === 'https:' && url.protocol !== 'https:') return undefined;
  const sameOrigin = url.origin === call.url.origin;
  const toGet = becomesGet(call.method, status);
  const kept = Object.entries(call.headers).filter(
    ([name]) => (sameOrigin || FOR_EVERYONE.has(name)) && !(toGet && OF_THE_BODY.has(name)),
  );
  const next = { method: toGet ? 'GET' : call.method, url, headers: Object.fromEntries(kept) };
  return toGet || call.body === undefined ? next : { ...next, body: call.body };
}

/** As browsers do: 303 always, 301 and 302 after a POST; 307 and 308 repeat the request as it is. */
function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return method === 'POST' && (status === 301 || status === 302);
}
