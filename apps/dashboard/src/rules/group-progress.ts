import type { GroupBody, ProgressBody } from '@millrace/contract';
import type { Tone } from './tones.js';

/** A part of the jobs of a group. */
export interface ProgressPart {
  readonly label: string;
  readonly value: number;
  readonly tone: Tone;
}

/** Where the jobs of a group are: the parts are all of them together. */
export function progressParts(progress: ProgressBody): readonly ProgressPart[] {
  const { success, failed, cancelled, inFlight, nonReady, pending } = progress;
  return [
    { label: 'done', value: success, tone: 'ok' },
    { label: 'failed', value: failed, tone: 'fail' },
    // One of them is empty: what waits when a group ends is cancelled.
    ...(cancelled > 0 ? [{ label: 'cancelled', value: cancelled, tone: 'wait' } as const] : []),
    { label: 'in flight', value: inFlight, tone: 'run' },
    { label: 'waiting for a time', value: nonReady, tone: 'hold' },
    { label: 'pending', value: Math.max(0, pending - nonReady), tone: 'wait' },
  ];
}

const ENDED: readonly GroupBody['status'][] = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** Whether a group has ended; a redrive may open it again. */
export const hasEnded = ({ status }: Pick<GroupBody, 'status'>): boolean => ENDED.includes(status);

/** The state of a group as it is shown: one that somebody has paused says so. */
export const shownStatus = (group: Pick<GroupBody, 'status' | 'paused'>): string =>
  group.paused && !hasEnded(group) ? 'PAUSED' : group.status;

/** The rounds of a group that have ended, the last first. */
export function endedRounds({ round, status }: Pick<GroupBody, 'round' | 'status'>): readonly number[] {
  const last = hasEnded({ status }) ? round : round - 1;
  return Array.from({ length: Math.min(last, ROUNDS_SHOWN_MAX) }, (_, index) => last - index);
}

/** A group that is sent back again and again has many; the first ones are nobody's interest. */
const ROUNDS_SHOWN_MAX = 50;
