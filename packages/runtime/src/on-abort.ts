import { AbortError } from '@millrace/async-utils';

export { onAbort } from '@millrace/async-utils';

/** The AbortError for a signal that has aborted; its reason is kept as the cause. */
export const abortError = (signal: AbortSignal): AbortError =>
  new AbortError('The operation was aborted', { cause: signal.reason });
