import { type AsyncHooks, tell } from '../hooks.js';
import type { AsyncUtilsConfig, CallSite } from './options.js';

/** The module's hooks in the shape of the core's: the call site is added to every event. */
export function hooksAt(settings: AsyncUtilsConfig, site: CallSite): AsyncHooks {
  const at = <E>(hook: ((event: E & CallSite) => void) | undefined) =>
    hook && ((event: E) => hook({ ...event, ...site }));
  return {
    onRetry: at(settings.onRetry),
    onTimeout: at(settings.onTimeout),
    onSuccess: at(settings.onSuccess),
    onError: at(settings.onError),
  };
}

/** One hook that tells two; the failure of one keeps nothing from the other. */
export const both =
  <E>(first: ((event: E) => void) | undefined, second: ((event: E) => void) | undefined) =>
  (event: E): void => {
    tell(first, event);
    tell(second, event);
  };

/** Nobody has said how long or how many: an error that says where, and both ways to say it. */
export function refuseMissing(
  who: string,
  site: CallSite,
  part: 'timeout' | 'limit',
  key: string,
  write = who,
): never {
  throw new TypeError(
    `${who} on ${site.className}.${site.methodName} has no ${key}: write ${write}(${key}), or import ` +
      `AsyncUtilsModule.forRoot({ ${part}: { ${key} } }), which reaches what Nest makes once the application starts`,
  );
}
