import type { DeadLetterFilter } from '../../src/ports.js';
import { NonReadyReason } from '../../src/states.js';
import { COMMAND_KINDS } from './commands.js';

/** One of two labels. */
export const labelIf = (condition: boolean, yes: string, no: string): string => (condition ? yes : no);

/** What a filter goes by. */
export const filterName = (filter: DeadLetterFilter): string =>
  Object.keys(filter).toSorted().join(' and ') || 'nothing';

const of = (kind: (typeof COMMAND_KINDS)[number], ...details: readonly string[]): string[] =>
  details.map((detail) => `${kind} ${detail}`);

const CHANGES = ['changed', 'ended', 'not-found'];
const FILTERS = [
  'nothing',
  'key',
  'jobId and key',
  'signature',
  'tenant',
  'signature and tenant',
  'key and signature',
];

/**
 * Everything that a run has to meet: one that is missing means that the sequences no longer reach it, and a difference
 * there would go unseen.
 */
export const WANTED: readonly string[] = [
  ...COMMAND_KINDS,
  ...of('create', 'created', 'known', 'conflict'),
  ...of('add', 'new', 'known', 'duplicate ids', 'nothing', 'sealed', 'full engine', 'full tenant'),
  ...of('add', 'after the end of its group'),
  ...of('seal', ...CHANGES, 'unchanged', 'mismatch', 'done DISPATCHED', 'done RUNNING', 'done COMPLETED'),
  ...of('cancel', ...CHANGES),
  ...of('pause', ...CHANGES, 'unchanged'),
  ...of('resume', ...CHANGES, 'unchanged'),
  ...of('forgetSlowness', ...CHANGES, 'unchanged'),
  ...of('update', ...CHANGES),
  ...of('fetch', 'some', 'none', 'room', 'full', 'rejected', 'next'),
  ...of('dispatch', 'none', 'to ready', 'to the lane or the end', 'skipped', 'next'),
  ...of('admit', 'NONE', 'TURN', 'PAUSED', 'GROUP_CAP', 'TENANT_CAP', 'READY_FULL', 'RATE_LIMITED'),
  ...of('admit', 'DEADLINE_EXCEEDED', 'CANCELLED', 'NOT_DUE', 'NOT_WAITING', 'unknown'),
  ...of('checkRate', 'allowed', 'denied', 'unknown'),
  ...of('reserve', 'some with turns', 'none with turns'),
  ...of('reserve', 'some', 'several', 'none', 'denied', 'repeated', 'repeated nothing', 'old'),
  ...of('renew', 'ok', 'lost', 'cancelled'),
  ...of('giveBack', 'ready', 'lane', 'stale', 'cancelled', 'gone'),
  ...of('giveBackAll', 'some', 'none', 'more'),
  ...of('settle', 'success', 'failure', 'dead', 'repeated', 'stale', 'cancelled', 'gone', 'ends the group'),
  ...of('settle', ...Object.values(NonReadyReason).map((reason) => `retry ${reason}`)),
  ...of('settle', 'as COMPLETED', 'as FAILED', 'as PENDING', 'throttled'),
  ...of('recover', 'none', 'some', 'dead', 'more'),
  ...of('sweep', 'some', 'none', 'more', 'next'),
  ...of('watch', 'GROUP_TIMEOUT', 'DEADLINE_EXCEEDED', 'none', 'moved on', 'more', 'next'),
  ...of('reconcile', 'some', 'none'),
  ...of('claim', 'claimed', 'several types', 'none', 'later'),
  ...of('claimGroup', 'claimed', 'later', 'not aggregating'),
  ...of('renewAggregation', 'true', 'false'),
  ...of('finishAggregation', 'done', 'lost'),
  ...of('failAggregation', 'again', 'failed', 'lost'),
  ...of('group', 'AGGREGATING'),
  ...of('result', 'with data', 'with numbers', 'with dropped results', 'AGGREGATION_FAILED'),
  ...of('results', 'some', 'in pages'),
  ...of('redrive', 'none', 'more', ...FILTERS.map((filter) => `by ${filter}`)),
  ...of('purge', 'none', 'more', ...FILTERS.map((filter) => `by ${filter}`)),
  ...of('instances', 'some', 'none'),
  ...of('begin', 'run', 'busy', 'done'),
  ...of('renewOnce', 'true', 'false'),
  ...of('finish', 'true', 'false'),
  ...of('group', 'CREATED', 'DISPATCHED', 'RUNNING', 'COMPLETED', 'CANCELLED', 'FAILED', 'unknown'),
  ...of('group', 'paused', 'in a later round'),
  ...of('result', 'COMPLETED', 'CANCELLED', 'FAILED', 'none', 'of a later round', 'of an earlier round'),
  ...of(
    'job',
    'LANE PENDING',
    'READY PENDING',
    'NON_READY PENDING',
    'IN_FLIGHT PROCESSING',
    'DONE COMPLETED',
  ),
  ...of('job', 'DONE FAILED', 'DONE CANCELLED', 'DEAD FAILED', 'LANE CANCELLED', 'READY CANCELLED'),
  ...of('job', 'NON_READY CANCELLED', 'IN_FLIGHT CANCELLED', 'unknown'),
  ...of('job', 'with all the tries that are kept'),
  ...of('explain', 'over share', 'jobs ahead', 'groups ahead', 'tenants ahead', 'processor', 'no processor'),
  ...of('explain', 'unknown'),
  ...of('createHere', 'created', 'known', 'conflict', 'elsewhere'),
  ...of('addHere', 'added', 'elsewhere'),
  ...of('claimHome', 'here', 'claimed', 'told of another'),
  ...of('locate', 'here', 'elsewhere', 'unknown'),
  ...of('claims', 'some', 'none'),
  ...of('checkHome', 'true', 'false'),
  ...of('tenant', 'found', 'unknown'),
  ...of('fairness', 'several'),
  ...of('queues', 'parked', 'starts', 'somebody in line', ...Object.values(NonReadyReason)),
  ...of('resources', 'some', 'limited', 'with history'),
  ...of('slowness', 'none', 'not slowed', 'slowed', 'frozen', 'with history'),
  ...of('signatures', 'some'),
  ...of('groups', 'some', 'in pages'),
  ...of('jobs', 'some', 'in pages'),
  ...of('dead letters', 'some', 'in pages'),
  ...of('first page', 'groups', 'jobs', 'dead letters'),
  ...of('other pages', 'some'),
];
