import { statusText } from './tones.js';

const PLACES: Readonly<Record<string, string>> = {
  LANE: 'In line in its group',
  READY: 'Ready for a worker',
  NON_READY: 'Waiting for a time',
  IN_FLIGHT: 'With a worker',
  DONE: 'Done',
  DEAD: 'Dead letter',
};

/** Which queue a job is in, in words. */
export const placeText = (place: string): string =>
  (Object.hasOwn(PLACES, place) && PLACES[place]) || statusText(place);

const REASONS: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'No token of a rate limit was left',
  API_THROTTLED: 'The service it calls refused it for now',
  TRANSIENT_ERROR: 'Its last try failed; it is tried again',
  SCHEDULED: 'It is not to start before its time',
  NO_PROCESSOR: 'No worker had its processor',
  ORPHANED: 'Whoever ran it vanished; it is tried again',
};

/** Why a job waits for a time; undefined: it does not. */
export const reasonText = (reason: string | null): string | undefined =>
  reason === null ? undefined : (Object.hasOwn(REASONS, reason) && REASONS[reason]) || statusText(reason);
