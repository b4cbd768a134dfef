import { Outcome } from '@millrace/orchestrator';
import { describe, expect, it } from 'vitest';
import {
  checkAnswers,
  checkKills,
  checkRefusals,
  checkRepairs,
  checkTold,
} from '../src/orchestrator/check-answers.js';
import { checkBatches, checkErrands } from '../src/orchestrator/check-backings.js';
import { checkEnds, checkNoLoss, checkNothingLeft, checkOneOutcome } from '../src/orchestrator/check-ends.js';
import { checkExecutions, checkStaleRefused } from '../src/orchestrator/check-runs.js';
import {
  byOperation,
  type Change,
  type Evidence,
  type Run,
  type StoredOperation,
  type Testimony,
  type Told,
  testimonyOf,
} from '../src/orchestrator/evidence.js';
import type { Plan, PlannedCommand, WorkEvent } from '../src/orchestrator/plan.js';
import { STEPS } from '../src/orchestrator/steps.js';

const payload = { ms: 1, heedless: false, failures: 0, forgotten: false };
const command = (event: WorkEvent, rest: Partial<PlannedCommand> = {}): PlannedCommand => ({
  key: event,
  event,
  dueMs: 0,
  budgetMs: 100,
  callers: 1,
  payload,
  ...rest,
});
const plan: Plan = {
  commands: [
    command('AGAIN'),
    command('ONCE'),
    command('BATCH', { cancelAfterMs: 5 }),
    command('ERRAND', { payload: { ...payload, forgotten: true } }),
  ],
  kills: [{ step: 'after accept', fromMs: 0 }],
};

/** AGAIN was lost by instance 1 and run again by 2; ONCE ran in 1; the others have something behind them. */
const outcomes = {
  AGAIN: Outcome.ok({ run: '2-1' }),
  ONCE: Outcome.ok({ run: '1-2' }),
  BATCH: Outcome.ok({ batchId: '7' }),
  ERRAND: Outcome.ok('run'),
};
type Key = keyof typeof outcomes;
const opIdOf = (key: string): string => `op-${key}`;

const operation = (key: Key, rest: Partial<StoredOperation> = {}): StoredOperation => ({
  opId: opIdOf(key),
  key,
  event: key,
  state: 'COMPLETED',
  outcome: outcomes[key],
  attempts: 1,
  attemptsMax: 4,
  refusals: 0,
  owner: null,
  isLeased: false,
  isDue: false,
  ahead: false,
  hasEnded: true,
  deadLetter: false,
  ...rest,
});
const change = (key: string, rest: Partial<Change>): Change => ({
  opId: opIdOf(key),
  at: 100,
  from: 'IN_PROGRESS',
  to: 'IN_PROGRESS',
  outcome: null,
  fromOwner: null,
  toOwner: null,
  token: 1,
  attempts: 1,
  refusals: 0,
  ahead: false,
  settled: false,
  ...rest,
});
const [one, two] = ['instance-1', 'instance-2'];
const accepted = (key: string) => change(key, { from: null, to: 'PENDING', toOwner: one });
const LIVES: Readonly<Record<Key, readonly Change[]>> = {
  AGAIN: [
    accepted('AGAIN'),
    change('AGAIN', { from: 'PENDING', fromOwner: one, toOwner: one }),
    change('AGAIN', { fromOwner: one }),
    change('AGAIN', { toOwner: two, token: 2, attempts: 2 }),
    change('AGAIN', {
      to: 'COMPLETED',
      outcome: outcomes.AGAIN,
      fromOwner: two,
      token: 2,
      attempts: 2,
      settled: true,
    }),
  ],
  ONCE: [
    accepted('ONCE'),
    change('ONCE', {
      from: 'PENDING',
      to: 'COMPLETED',
      outcome: outcomes.ONCE,
      fromOwner: one,
      settled: true,
    }),
  ],
  BATCH: [
    accepted('BATCH'),
    change('BATCH', { from: 'PENDING', fromOwner: one, settled: true }),
    change('BATCH', { to: 'COMPLETED', outcome: outcomes.BATCH, settled: true }),
  ],
  ERRAND: [
    accepted('ERRAND'),
    change('ERRAND', { from: 'PENDING', fromOwner: one, settled: true }),
    change('ERRAND', { to: 'COMPLETED', outcome: outcomes.ERRAND, settled: true }),
  ],
};
const lives = (changed: Partial<Record<Key, readonly Change[]>> = {}) =>
  byOperation(Object.values({ ...LIVES, ...changed }).flat());
const without = (key: Key, at: number): readonly Change[] => LIVES[key].toSpliced(at, 1);

const run = (name: string, key: Key, rest: Partial<Run> = {}): Run => ({
  run: name,
  opId: opIdOf(key),
  event: key,
  pid: Number(name.split('-')[0]),
  effect: true,
  how: 'done',
  ...rest,
});
const runs = [run('1-1', 'AGAIN', { how: undefined }), run('1-2', 'ONCE'), run('2-1', 'AGAIN')];

const told = (key: Key, by: Told['by'], rest: Partial<Told> = {}): Told => ({
  key,
  opId: opIdOf(key),
  by,
  status: 200,
  outcome: outcomes[key],
  ...rest,
});
const later: Partial<Told> = { status: 202, outcome: undefined };
const answers: readonly Told[] = [
  told('AGAIN', 'answered', later),
  told('AGAIN', 'looked'),
  told('ONCE', 'answered'),
  told('BATCH', 'answered', later),
  told('BATCH', 'looked'),
  told('BATCH', 'cancel-answered'),
  told('ERRAND', 'answered', later),
  told('ERRAND', 'looked'),
];
const operations = (Object.keys(outcomes) as Key[]).map((key) => operation(key));
const withOperation = (key: Key, rest: Partial<StoredOperation>) => ({
  operations: operations.map((each) => (each.key === key ? operation(key, rest) : each)),
});

/** A run in which everything went well, with what is given changed. */
function evidence(changes: Partial<Evidence> = {}, testimony: Partial<Testimony> = {}): Evidence {
  return {
    plan,
    operations,
    changes: lives(),
    batches: new Map([[opIdOf('BATCH'), 'DONE']]),
    effects: new Map([[opIdOf('BATCH'), ['first', 'left', 'right']]]),
    errands: new Map([[opIdOf('ERRAND'), { cancelled: false, sent: 2 }]]),
    ...changes,
    testimony: {
      told: answers,
      waits: answers.map(({ key }) => ({ key, tookMs: 90, stalled: false })),
      runs,
      repairs: ['finalizer', 'reaper', 'runner', 'watcher'].map((by) => ({ by, opId: opIdOf('AGAIN') })),
      kills: ['after accept'],
      refusals: { 'POST 503 STORE_UNAVAILABLE': 3 },
      cuts: 1,
      diedAt: new Map([[1, 50]]),
      drainedMs: [],
      ...testimony,
    },
  };
}

type Check = (evidence: Evidence) => { readonly held: boolean; readonly evidence: string };
const seesThat =
  (check: Check) => (says: string, changes: Partial<Evidence>, testimony?: Partial<Testimony>) => {
    const verdict = check(evidence(changes, testimony));
    expect(verdict.evidence).toContain(says);
    expect(verdict.held).toBe(false);
  };
const FAIL = Outcome.fail('CANCELLED', 'cancelled');
const LOST = Outcome.fail('OPERATION_LOST', 'lost');

describe('the checkers of the orchestrator scenario', () => {
  it('find nothing wrong in a run that went well', () => {
    const good = evidence();
    for (const check of [
      checkNoLoss,
      checkOneOutcome,
      checkEnds,
      checkTold,
      checkExecutions,
      checkStaleRefused,
      checkBatches,
      checkErrands,
      checkNothingLeft,
      checkRefusals,
    ])
      expect(check(good), check.name).toMatchObject({ held: true });
    expect(checkAnswers(good, true)).toMatchObject({ held: true });
    expect(checkRepairs(good, true)).toMatchObject({ held: true });
    expect(checkKills(good, false)).toMatchObject({ held: true });
  });

  it('see a key that was lost, doubled, never acknowledged, or told of under another id', () => {
    const sees = seesThat(checkNoLoss);
    sees('ONCE has 0 operations', { operations: operations.filter(({ key }) => key !== 'ONCE') });
    sees('ONCE has 2 operations', { operations: [...operations, operation('ONCE', { opId: 'another' })] });
    sees('nobody asked for its key', { plan: { ...plan, commands: plan.commands.slice(1) } });
    sees('was never acknowledged', {}, { told: answers.filter(({ key }) => key !== 'ONCE') });
    sees('was told of other', {}, { told: [...answers, told('ONCE', 'answered', { opId: 'other' })] });
  });

  it('see a second outcome, one that changed, a step that the machine does not have, and no end', () => {
    const sees = seesThat(checkOneOutcome);
    const again = change('ONCE', { from: 'COMPLETED', to: 'FAILED', outcome: FAIL });
    sees('ONCE ended 2 times', { changes: lives({ ONCE: [...LIVES.ONCE, again] }) });
    const rewritten = change('ONCE', { from: 'COMPLETED', to: 'COMPLETED', outcome: Outcome.ok('other') });
    sees('ONCE was changed after its end', { changes: lives({ ONCE: [...LIVES.ONCE, rewritten] }) });
    sees('ONCE has another outcome', withOperation('ONCE', { outcome: Outcome.ok('other') }));
    sees('AGAIN ended 0 times', { changes: lives({ AGAIN: without('AGAIN', 4) }) });
    const back = change('AGAIN', { to: 'PENDING', fromOwner: one, toOwner: one });
    const went = LIVES.AGAIN.toSpliced(2, 0, back, { ...back, from: 'PENDING', to: 'IN_PROGRESS' });
    sees('AGAIN went from IN_PROGRESS to PENDING', { changes: lives({ AGAIN: went }) });
    sees('went from PENDING to IN_PROGRESS', { changes: lives({ BATCH: without('BATCH', 0) }) });
  });

  it('see an end that its route does not have', () => {
    const sees = seesThat(checkEnds);
    const ended = (key: Key, outcome: Outcome, rest: Partial<StoredOperation> = {}) =>
      withOperation(key, { state: 'FAILED', deadLetter: true, outcome, ...rest });
    sees('AGAIN AGAIN is FAILED', ended('AGAIN', LOST, { attempts: 2 }));
    sees('AGAIN AGAIN is FAILED', ended('AGAIN', FAIL, { ahead: true, deadLetter: false }));
    sees('BATCH BATCH is FAILED', ended('BATCH', FAIL));
    sees('ONCE ONCE is COMPLETED', withOperation('ONCE', { outcome: LOST }));
    sees('ONCE ONCE is IN_PROGRESS', withOperation('ONCE', { state: 'IN_PROGRESS', outcome: null }));
    for (const good of [
      ended('ONCE', LOST),
      ended('AGAIN', LOST, { attempts: 4 }),
      ended('BATCH', FAIL, { ahead: true, deadLetter: false }),
    ])
      expect(checkEnds(evidence(good))).toMatchObject({ held: true });
  });

  it('see an outcome that somebody was told and that is not the stored one', () => {
    const sees = seesThat(checkTold);
    for (const by of ['answered', 'looked', 'cancel-answered'] as const)
      sees(`ONCE (${by})`, {}, { told: [...answers, told('ONCE', by, { outcome: LOST })] });
  });

  it('see a run too many, and a second one of a route that runs at most once', () => {
    const sees = seesThat(checkExecutions);
    expect(checkExecutions(evidence()).evidence).toContain('1 losses, 1 of them to a death');
    const alive = new Map([[1, 101]]);
    expect(checkExecutions(evidence({}, { diedAt: alive })).evidence).toContain('0 of them to a death');
    sees('AGAIN AGAIN ran 3 times', {}, { runs: [...runs, run('2-9', 'AGAIN')] });
    sees('ONCE ONCE ran 2 times', {}, { runs: [...runs, run('2-9', 'ONCE')] });
    // Without the loss in between, the second run of AGAIN is one too many.
    sees('AGAIN AGAIN ran 2 times', { changes: lives({ AGAIN: without('AGAIN', 2) }) });
    const lost = LIVES.ONCE.toSpliced(1, 0, change('ONCE', { from: 'PENDING', fromOwner: one }));
    sees('ran 2 times', { changes: lives({ ONCE: lost }) }, { runs: [...runs, run('2-9', 'ONCE')] });
  });

  it('see a result of a stale owner, of a run that did not end, and a token that did not rise', () => {
    const sees = seesThat(checkStaleRefused);
    const stale = LIVES.AGAIN.with(4, { ...(LIVES.AGAIN[4] as Change), fromOwner: one });
    sees("AGAIN is recorded by 2-1, and was instance-1's", { changes: lives({ AGAIN: stale }) });
    sees('did not end well', {}, { runs: runs.with(2, run('2-1', 'AGAIN', { how: 'failed' })) });
    sees('did not end well', {}, { runs: runs.with(2, run('2-1', 'ONCE')) });
    sees('did not end well', withOperation('AGAIN', { outcome: Outcome.ok({ run: '9-9' }) }));
    const same = LIVES.AGAIN.with(3, { ...(LIVES.AGAIN[3] as Change), token: 1 });
    sees('AGAIN has token 1 for instance-2', { changes: lives({ AGAIN: same }) });
  });

  it('see an effect twice, a missing one, and an operation that ended otherwise than its batch', () => {
    const sees = seesThat(checkBatches);
    const id = opIdOf('BATCH');
    const rows = ['first', 'left', 'right'];
    sees('BATCH has rows', { effects: new Map([[id, [...rows, 'left']]]) });
    sees('is done with 2 rows', { effects: new Map([[id, rows.slice(1)]]) });
    sees('its batch ABORTED', { batches: new Map([[id, 'ABORTED']]) });
    sees('has rows, and no batch', { batches: new Map() });
    sees('BATCH is FAILED, its batch DONE', withOperation('BATCH', { state: 'FAILED' }));
    sees('and no operation', { effects: new Map([...evidence().effects, ['stranger', ['first']]]) });
    const cancelled = withOperation('BATCH', { state: 'FAILED', ahead: true });
    expect(checkBatches(evidence(cancelled))).toMatchObject({ held: true });
  });

  it('see an errand that was not run, or not sent again', () => {
    const sees = seesThat(checkErrands);
    const errand = (cancelled: boolean, sent: number) => ({
      errands: new Map([[opIdOf('ERRAND'), { cancelled, sent }]]),
    });
    sees('its errand is cancelled', errand(true, 2));
    sees('sent 1 times', errand(false, 1));
    expect(checkErrands(evidence({ errands: new Map() }))).toMatchObject({ held: false });
  });

  it('see what is left', () => {
    const sees = seesThat(checkNothingLeft);
    sees('open × 1', withOperation('ONCE', { hasEnded: false }));
    sees('owned × 1', withOperation('ONCE', { owner: one }));
    sees('owned × 1', withOperation('ONCE', { isLeased: true }));
    sees('waiting × 1', withOperation('ONCE', { isDue: true }));
    sees('ahead × 1', withOperation('ONCE', { ahead: true, hasEnded: false }));
    sees('running batches × 1', { batches: new Map([[opIdOf('BATCH'), 'RUNNING']]) });
  });

  it('see a status URL that does not work, and answers that come late', () => {
    const sees = seesThat((all) => checkAnswers(all, true));
    sees('AGAIN: its status URL never told', {}, { told: answers.toSpliced(1, 1) });
    const stranger = told('AGAIN', 'looked', { opId: 'other', outcome: undefined });
    sees('told of another operation', {}, { told: [...answers, stranger] });
    const waits = answers.map(({ key }) => ({ key, tookMs: 201, stalled: false }));
    sees('0.0 % of 8 answers', {}, { waits });
    expect(checkAnswers(evidence({}, { waits }), false)).toMatchObject({ held: true });
    const frozen = [...waits.map((wait) => ({ ...wait, stalled: true })), ...evidence().testimony.waits];
    expect(checkAnswers(evidence({}, { waits: frozen }), true)).toMatchObject({ held: true });
  });

  it('see refusals of another kind, repairers without work, steps at which nobody died', () => {
    const refusals = { 'POST 500 INTERNAL': 1 };
    expect(checkRefusals(evidence({}, { refusals }))).toMatchObject({ held: false });
    const repairs = [{ by: 'reaper', opId: 'x' }];
    expect(checkRepairs(evidence({}, { repairs }), true)).toMatchObject({
      held: false,
      evidence: 'finalizer × 0, reaper × 1, runner × 0, watcher × 0',
    });
    expect(checkRepairs(evidence({}, { repairs }), false)).toMatchObject({ held: true });
    expect(checkKills(evidence(), true)).toMatchObject({ held: false });
    expect(checkKills(evidence({}, { kills: [...STEPS] }), true)).toMatchObject({ held: true });
    expect(checkKills(evidence({}, { kills: [] }), false)).toMatchObject({ held: false });
  });

  it('read the ledger', () => {
    let seq = 0;
    const line = (at: number, pid: number, kind: string, rest: object) => ({
      at,
      pid,
      seq: ++seq,
      kind,
      ...rest,
    });
    const {
      runs: read,
      waits,
      diedAt,
    } = testimonyOf([
      line(1, 7, 'began', { run: '7-1', op: 'o', event: 'AGAIN', attempt: 1 }),
      line(2, 7, 'effect', { run: '7-1', op: 'o' }),
      line(3, 7, 'began', { run: '7-2', op: 'p', event: 'AGAIN', attempt: 1 }),
      line(100, 1, 'paused', { worker: 7 }),
      line(200, 1, 'woken', { worker: 7 }),
      line(210, 1, 'waited', { key: 'k', tookMs: 50, instance: 7, keptUp: true }),
      line(300, 1, 'waited', { key: 'k', tookMs: 50, instance: 7, keptUp: true }),
      line(301, 1, 'waited', { key: 'k', tookMs: 200, instance: 8, keptUp: true }),
      line(302, 1, 'waited', { key: 'k', tookMs: 200, instance: 8, keptUp: false }),
      line(400, 1, 'died', { worker: 7 }),
    ]);
    expect(read.map(({ run: name, effect, how }) => [name, effect, how])).toEqual([
      ['7-1', true, undefined],
      ['7-2', false, undefined],
    ]);
    expect(waits.map(({ stalled }) => stalled)).toEqual([true, false, false, true]);
    expect(diedAt).toEqual(new Map([[7, 400]]));
  });
});
