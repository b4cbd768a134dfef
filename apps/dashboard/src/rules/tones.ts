/** What a colour means: it runs, it is done, it is held back by somebody else, it failed, its turn comes. */
export type Tone = 'run' | 'ok' | 'hold' | 'fail' | 'wait';

/** What everything that has a state is called, and what it means for whoever looks. Shapes differ too: not everybody sees colours. */
const TONES: Readonly<Record<string, Tone>> = {
  CREATED: 'wait',
  DISPATCHED: 'wait',
  RUNNING: 'run',
  AGGREGATING: 'run',
  COMPLETED: 'ok',
  FAILED: 'fail',
  CANCELLED: 'wait',
  PAUSED: 'hold',
  PENDING: 'wait',
  PROCESSING: 'run',
  WAITING: 'wait',
  READY: 'wait',
  DONE: 'ok',
  SKIPPED: 'wait',
  ABORTED: 'hold',
  IN_PROGRESS: 'run',
  QUEUED: 'wait',
  STREAMING: 'run',
  NONE: 'ok',
  LOW: 'hold',
  MODERATE: 'hold',
  HIGH: 'fail',
  CRITICAL: 'fail',
};

/** What a state means for whoever looks. */
export const toneOf = (status: string): Tone => TONES[status] ?? 'wait';

/** A state as people write it: `IN_PROGRESS` is `In progress`. */
export const statusText = (status: string): string =>
  status.charAt(0) + status.slice(1).toLowerCase().replaceAll('_', ' ');
