import { wait } from '@millrace/async-utils';
import type { JobContext } from '@millrace/bulk-action';
import { type PlannedJob, planJob } from './plan.js';
import { IMPATIENT_TYPE } from './settings.js';

/** Writes down how a try ended, before anybody else hears of it. */
export type NoteEnd = (how: 'done' | 'failed' | 'aborted') => void;

/** One way to misbehave, and what must be known of it afterwards. */
export interface BadDeed {
  /** As its dead letter says it. */
  readonly code: string;
  /** A part of the message. */
  readonly says: string;
  /** Whether a later try goes well. */
  readonly recovers?: true;
  /** Whether it takes all the time it is given: it is run by the impatient processor. */
  readonly lingers?: true;
  /** What the processor does; what it throws or gives back is what the engine gets, as it is. */
  act(context: JobContext, note: NoteEnd): unknown;
}

/** As the engine is configured in this scenario: a handler has so long to end when its signal aborts. */
export const ABORT_GRACE_MS = 100;
const LATE_MS = 40;
const FAILED = 'HANDLER_FAILED';
const OUTRAGE = 'nobody may look at this';

const outraged = (): never => {
  throw new Error(OUTRAGE);
};

/** Something that is thrown, however odd. */
const throwing = (make: () => unknown, says: string, code = FAILED): BadDeed => ({
  code,
  says,
  act(_context, note) {
    note('failed');
    throw make();
  },
});

/** Something that is given back and is no good. */
const giving = (make: () => unknown, says: string): BadDeed => ({
  code: FAILED,
  says,
  act(_context, note) {
    note('failed');
    return make();
  },
});

const timingOut = (act: BadDeed['act']): BadDeed => ({
  code: 'JOB_TIMEOUT',
  says: 'timed out',
  lingers: true,
  act,
});

const aborted = ({ signal }: JobContext): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const errorWith = (message: string, members: object): Error => Object.assign(new Error(message), members);

const hidden = (name: string): Error =>
  Object.defineProperty(new Error('hidden'), name, { get: outraged, configurable: true });

const thenable = (then: PropertyDescriptor): object => Object.defineProperty({}, 'then', then);

const everyTrap: ProxyHandler<object> = new Proxy({}, { get: () => outraged });

/** All of them by name. */
export const BAD_DEEDS: Readonly<Record<string, BadDeed>> = {
  'throws undefined': throwing(() => undefined, 'threw undefined'),
  'throws null': throwing(() => null, 'threw null'),
  'throws a string': throwing(() => 'out of stamps', 'out of stamps'),
  'throws a number': throwing(() => 42, 'threw 42'),
  'throws a symbol': throwing(() => Symbol('stamps'), 'Symbol(stamps)'),
  'throws a circular object': throwing(circular, 'unprintable object'),
  'throws a circular error': throwing(() => {
    const error = errorWith('round and round', {});
    return Object.assign(error, { cause: error, self: { error } });
  }, 'round and round'),
  'throws an error whose message throws': throwing(() => hidden('message'), 'The handler threw'),
  'throws an error whose code throws': throwing(() => hidden('code'), 'hidden'),
  'throws an error whose toString throws': throwing(
    () =>
      errorWith('still readable', { toString: outraged, toJSON: outraged, [Symbol.toPrimitive]: outraged }),
    'still readable',
  ),
  'throws an object whose toString throws': throwing(
    () => ({ toString: outraged, toJSON: outraged, [Symbol.toPrimitive]: outraged }),
    'unprintable object',
  ),
  'throws a frozen error': throwing(() => Object.freeze(new Error('frozen')), 'frozen'),
  'throws a proxied error': throwing(() => new Proxy(new Error('behind a proxy'), {}), 'behind a proxy'),
  'throws a hostile proxy': throwing(
    () => new Proxy(new Error('never seen'), everyTrap),
    'unprintable object',
  ),
  'throws a revoked proxy': throwing(() => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  }, 'unprintable object'),
  'throws an enormous message': throwing(() => new Error(`long ${'x'.repeat(5_000_000)}`), 'long xxx'),
  'throws odd characters': throwing(() => new Error('nul \u0000, half \ud800, \u202eback\n*{0}:'), 'half'),
  'throws an enormous code': throwing(
    () => errorWith('a code without end', { code: 'E'.repeat(100_000) }),
    'a code without end',
    'E'.repeat(100),
  ),
  'throws the code __proto__': throwing(
    () => errorWith('a code like any other', { code: '__proto__' }),
    'a code like any other',
    '__proto__',
  ),
  'rejects with undefined': giving(() => Promise.reject(undefined), 'threw undefined'),
  'rejects with an object': giving(() => Promise.reject({ reason: 'no error' }), '{"reason":"no error"}'),
  'gives a thenable that throws': giving(() => thenable({ value: outraged }), OUTRAGE),
  'gives an object whose then cannot be read': giving(() => thenable({ get: outraged }), OUTRAGE),
  'gives an answer that cannot be read': giving(
    () => Object.defineProperty({}, 'success', { get: outraged }),
    OUTRAGE,
  ),
  'says that it failed, not why': giving(() => ({ success: false }), 'without an error'),
  'never settles': timingOut(() => new Promise(() => {})),
  'gives a thenable that never calls back': timingOut(() => thenable({ value: () => {} })),
  'settles after its abort': timingOut(async (context, note) => {
    await aborted(context);
    note('aborted');
    await wait(LATE_MS);
    return 'a result that comes late';
  }),
  'throws after its abort': timingOut(async (context, note) => {
    await aborted(context);
    note('aborted');
    throw new Error('an error that comes late');
  }),
  'settles when nobody waits any more': timingOut(settleAbandoned),
  'settles late at first': {
    ...timingOut((context, note) => {
      if (context.attempt === 1) return settleAbandoned(context, note);
      note('done');
      return 'in time';
    }),
    recovers: true,
  },
};

async function settleAbandoned(context: JobContext, note: NoteEnd): Promise<string> {
  await aborted(context);
  note('aborted');
  await wait(ABORT_GRACE_MS + 2 * LATE_MS);
  return 'a result that comes too late';
}

function circular(): object {
  const ring: Record<string, unknown> = {};
  ring.ring = ring;
  return ring;
}

/** A job that misbehaves, with what must come of it. */
export function badJob(id: string, bad: string): PlannedJob {
  const deed = BAD_DEEDS[bad];
  if (!deed) throw new Error(`there is no bad deed '${bad}'`);
  const script = { does: 'misbehaves', ms: 0, bad, ...(deed.lingers && { type: IMPATIENT_TYPE }) } as const;
  const job = planJob(id, script);
  return deed.recovers ? job : { ...job, ends: 'FAILED', dead: true };
}
