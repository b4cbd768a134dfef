import type { OperationBody } from '@millrace/contract';
import { counted } from './amounts.js';
import type { Tone } from './tones.js';
import { statusText, toneOf } from './tones.js';

/** One moment in the life of an operation. */
export interface OperationStep {
  readonly key: 'accepted' | 'started' | 'tries' | 'work' | 'waits' | 'runs' | 'ended';
  readonly title: string;
  /** When it came to it; null: nobody has written that down. */
  readonly at: string | null;
  readonly note?: string | undefined;
  readonly tone: Tone;
  /** It is here now. */
  readonly isNow?: boolean;
  /** What it waits for comes then. */
  readonly until?: string | null;
}

/** An operation, as far as its life is told of. */
export type OperationLife = Pick<
  OperationBody,
  | 'state'
  | 'outcome'
  | 'attempts'
  | 'attemptsMax'
  | 'refusals'
  | 'dueAt'
  | 'backing'
  | 'acceptedAt'
  | 'startedAt'
  | 'updatedAt'
  | 'endedAt'
>;

/** Whether an operation never changes again. */
export const hasEnded = ({ state }: Pick<OperationBody, 'state'>): boolean =>
  state === 'COMPLETED' || state === 'FAILED';

/** The life of an operation, from its acceptance to its end or to where it is now. */
export function operationSteps(operation: OperationLife): readonly OperationStep[] {
  const steps: OperationStep[] = [
    { key: 'accepted', title: 'Accepted', at: operation.acceptedAt, tone: 'wait' },
  ];
  if (operation.startedAt)
    steps.push({ key: 'started', title: 'First try began', at: operation.startedAt, tone: 'run' });
  const tries = triesNote(operation);
  if (tries) steps.push({ key: 'tries', title: tries, at: null, tone: 'hold' });
  if (operation.backing) steps.push(workStep(operation));
  steps.push(hasEnded(operation) ? endStep(operation) : nowStep(operation));
  return steps;
}

/** What went otherwise than by one try; undefined: nothing. */
function triesNote({ attempts, attemptsMax, refusals }: OperationLife): string | undefined {
  const said = [
    ...(attempts > 1 ? [`${attempts} of ${counted(attemptsMax, 'try', 'tries')} begun`] : []),
    ...(refusals > 0 ? [`refused ${counted(refusals, 'time')} before a try began`] : []),
  ].join(', ');
  return said === '' ? undefined : said.charAt(0).toUpperCase() + said.slice(1);
}

const WORK_TITLES: Readonly<Record<string, string>> = { bulk: 'Became a group', batch: 'Became a batch' };

/** The last change of one that stands for other work is its hand-over; after its end nobody knows it any more. */
function workStep(operation: OperationLife): OperationStep {
  const kind = operation.backing?.kind ?? '';
  const isOpen = !hasEnded(operation);
  return {
    key: 'work',
    title: WORK_TITLES[kind] ?? `Became work of ${kind}`,
    at: isOpen ? operation.updatedAt : null,
    tone: 'run',
    ...(isOpen && { note: 'It ends when that work does.' }),
  };
}

function nowStep(operation: OperationLife): OperationStep {
  const { attempts, attemptsMax, dueAt, outcome, backing, updatedAt } = operation;
  if (backing) return { key: 'runs', title: 'The work goes on', at: null, tone: 'run', isNow: true };
  const isWaiting = dueAt !== null || attempts === 0;
  if (!isWaiting)
    return {
      key: 'runs',
      title: `Try ${attempts} of ${attemptsMax} runs`,
      at: null,
      tone: 'run',
      isNow: true,
    };
  return {
    key: 'waits',
    title: attempts === 0 ? 'Waits for its first try' : 'Waits for another try',
    at: attempts === 0 ? null : updatedAt,
    tone: attempts === 0 ? 'wait' : 'hold',
    isNow: true,
    until: dueAt,
    ...(outcome?.type === 'Retry' && { note: outcome.reason }),
  };
}

function endStep(operation: OperationLife): OperationStep {
  const { outcome, endedAt } = operation;
  const how = shownState(operation);
  return {
    key: 'ended',
    title: statusText(how),
    at: endedAt,
    tone: toneOf(how),
    note: outcome?.type === 'Ok' ? outcome.message : outcome ? outcomeText(outcome) : undefined,
  };
}

/** How a cancelled operation says so: it is FAILED, and yet no failure of its work. */
const CANCELLED = 'CANCELLED';

/** The state of an operation as people see it: one that somebody has cancelled has not failed. */
export const shownState = ({ state, outcome }: Pick<OperationBody, 'state' | 'outcome'>): string =>
  state === 'FAILED' && outcome?.type === 'Fail' && outcome.errorCode === CANCELLED ? CANCELLED : state;

/** Of data in a line; more has no room there. */
const DATA_SHOWN_MAX = 120;

/** What came of an operation, in a line. */
export function outcomeText(outcome: NonNullable<OperationBody['outcome']>): string {
  if (outcome.type === 'Ok')
    return outcome.message ?? (outcome.data === undefined ? 'Done' : clipped(JSON.stringify(outcome.data)));
  if (outcome.type === 'Retry') return outcome.reason;
  return `${outcome.errorCode}: ${outcome.message}`;
}

const clipped = (text: string): string =>
  text.length > DATA_SHOWN_MAX ? `${text.slice(0, DATA_SHOWN_MAX)}…` : text;

/** A step with the time that lies between it and the last one whose time is known. */
export interface PacedStep extends OperationStep {
  /** Milliseconds; null: one of the two times is not known. */
  readonly afterMs: number | null;
}

/**
 * Says of each step how long it took to get there; of where it is now, how long it has been so.
 * @param now - milliseconds since 1970.
 */
export function pacedSteps(steps: readonly OperationStep[], now: number): readonly PacedStep[] {
  let known: number | undefined;
  return steps.map((step) => {
    const at = step.at === null ? (step.isNow ? now : undefined) : Date.parse(step.at);
    const afterMs = at === undefined || known === undefined ? null : Math.max(0, at - known);
    known = at ?? known;
    return { ...step, afterMs };
  });
}
