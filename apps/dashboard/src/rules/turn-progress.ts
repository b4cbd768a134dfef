import type { ChatEvent, ChatTaskStatusName } from '@millrace/contract';
import type { ProblemError } from '@millrace/contract/server-client';
import { isNotFound, problemText } from './problems.js';

/** How far the answer of a turn is, as its stream tells it. */
export interface TurnProgress {
  readonly status: ChatTaskStatusName;
  /** Of the answer, so far. */
  readonly text: string;
  /** Why it failed. */
  readonly problem: string | undefined;
}

/** A turn of which nothing was heard. */
export const UNHEARD: TurnProgress = { status: 'QUEUED', text: '', problem: undefined };

/** The code of the error with which a cancelled turn ends. */
const CANCELLED = 'TASK_CANCELLED';

/**
 * How far a turn is after an event of its stream. A stream that is opened again begins with `start`, and with it the text does.
 */
export function afterEvent(before: TurnProgress, type: string, data: ChatEvent['data']): TurnProgress {
  // After its end a turn never changes.
  if (hasEnded(before.status)) return before;
  switch (type) {
    case 'start':
      return { status: 'RUNNING', text: '', problem: undefined };
    case 'token':
      return {
        ...before,
        status: 'STREAMING',
        text: data.snapshot ? (data.text ?? '') : before.text + (data.text ?? ''),
      };
    case 'done':
      return { ...before, status: 'COMPLETED' };
    case 'error':
      return data.code === CANCELLED
        ? { ...before, status: 'CANCELLED' }
        : { ...before, status: 'FAILED', problem: data.message ?? data.code };
    default:
      return before;
  }
}

const LOST = 'The server knows nothing of this turn any more: it was restarted, or the turn ended long ago.';

/** How far a turn is whose stream the server refuses: nothing more will be heard of it. */
export const afterRefusal = (before: TurnProgress, refusal: ProblemError): TurnProgress => ({
  ...before,
  status: 'FAILED',
  problem: isNotFound(refusal) ? LOST : problemText(refusal),
});

/** Whether a turn is over. */
export const hasEnded = (status: ChatTaskStatusName): boolean =>
  status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
