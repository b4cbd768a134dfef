import { requestInvalid } from '../http/request-errors.js';

/** Fewer digits than a number can lose. */
const NUMBER = /^\d{1,15}$/;

/**
 * Where a stream goes on.
 * @param lastEventId - the header `Last-Event-ID`: the number of the last event that was received, '' for none.
 * @throws MillraceError `REQUEST_INVALID`.
 */
export function offsetAfter(lastEventId: string | undefined): number {
  if (lastEventId === undefined || lastEventId === '') return 0;
  if (NUMBER.test(lastEventId)) return Number(lastEventId) + 1;
  throw requestInvalid([{ field: 'Last-Event-ID', message: 'must be the number of an event' }]);
}
