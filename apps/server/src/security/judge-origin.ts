import type { MillraceError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';

const LOCAL_NAMES = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** What is looked at of a request. */
export interface RequestOrigin {
  readonly method: string;
  readonly headers: { readonly origin?: string | undefined; readonly host?: string | undefined };
}

/**
 * Why a request is refused for where it comes from; undefined when it is not. A browser sends requests of any page to any
 * address, this machine too: what changes something must come from our own page. A name that somebody has let point to this
 * machine must not open a server without keys.
 * @param options - `hasKeys`: whether callers have to show one.
 */
export function originRefusal(
  { method, headers: { origin, host = '' } }: RequestOrigin,
  { hasKeys }: { readonly hasKeys: boolean },
): MillraceError | undefined {
  if (!hasKeys && !LOCAL_NAMES.test(host)) return ERRORS.create('HOST_REFUSED', { host });
  if (method === 'GET' || method === 'HEAD' || origin === undefined) return undefined;
  return hostOf(origin) === host.toLowerCase() ? undefined : ERRORS.create('ORIGIN_REFUSED', { origin });
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined; // Such as 'null', of a page in a sandbox.
  }
}
