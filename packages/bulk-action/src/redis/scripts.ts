import { defineScript } from '@millrace/redis';

const lua = (name: string): URL => new URL(`../../lua/${name}.lua`, import.meta.url);
const includeFolder = new URL('../../lua/', import.meta.url);

/** A flat reply of texts and numbers. */
export type Values = readonly (string | number)[];

const values = (reply: unknown): Values => (reply ?? []) as Values;
const text = (reply: unknown): string | undefined => (typeof reply === 'string' ? reply : undefined);

const DEFINITION = [
  'key',
  'tenant',
  'tenantId',
  'weight',
  'level',
  'rps',
  'burst',
  'concurrency',
  'timeoutMs',
  'deadline',
  'traceparent',
  'fingerprint',
] as const;

const CHANGED = "{'done', status, changed} | {'ended', status} | {'not-found'}";

const CLAIM = '{key, shard, claimedMs, ageMs}';

/** Declares a verb whose only key is `meta`: the others are built under its hash tag. */
function verb<const A extends string, R>(
  name: string,
  args: readonly A[],
  returns: string,
  decode: (reply: unknown) => R,
) {
  return defineScript({
    name,
    file: lua(name),
    includeFolder,
    keys: ['meta'],
    args: ['settings', ...args] as readonly ('settings' | A)[],
    returns,
    decode,
  });
}

/** The verbs of the engine, one Lua file each. */
export const BULK_SCRIPTS = {
  open: defineScript({
    name: 'open',
    file: lua('open'),
    keys: ['meta'],
    args: ['layout', 'shards'],
    returns: '{layout, shards}',
    decode: values,
  }),
  createGroup: verb('create-group', DEFINITION, 'created | known | conflict | elsewhere', String),
  addJobs: verb(
    'add-jobs',
    [...DEFINITION, 'later', 'jobs...'] as const,
    "{'added', added, known, registered} | {'sealed', unknown} | {'full', scope, queued, max} | {'elsewhere'}",
    values,
  ),
  claimHome: verb('claim-home', ['key', 'shard'], `{'here'} | ${CLAIM}`, values),
  readHome: verb('read-home', ['key'], `{'here'} | ${CLAIM} | {}`, values),
  listHomes: verb('list-homes', ['ageMs', 'max'], '{key, shard, claimedMs, ageMs, …}', values),
  checkHome: verb(
    'check-home',
    ['key', 'claimedMs', 'found'],
    '1 it was that one, 0 it was another one or none',
    Number,
  ),
  sealGroup: verb('seal-group', ['key', 'total'], `${CHANGED} | {'mismatch', registered}`, values),
  cancelGroup: verb('cancel-group', ['key'], CHANGED, values),
  pauseGroup: verb('pause-group', ['key', 'paused'], CHANGED, values),
  forgetSlowness: verb('forget-slowness', ['key'], CHANGED, values),
  updateGroup: verb(
    'update-group',
    ['key', 'weight', 'level', 'rps', 'burst', 'concurrency', 'timeoutMs', 'deadline'],
    CHANGED,
    values,
  ),
  updateTenant: verb('update-tenant', ['tenantId', 'weight', 'rps', 'burst', 'concurrency'], '1', Number),
  fetch: verb('fetch', ['max'], '{ready, rejected, room, nextInMs or -1}', values),
  dispatch: verb('dispatch', ['max'], '{moved, ready, skipped, nextInMs or -1}', values),
  admit: verb('admit', ['key', 'jobId'], '{destination, reason} | {}', values),
  checkRate: verb('check-rate', ['key', 'cost'], '{waitMs} | {}', values),
  reserve: verb(
    'reserve',
    ['instanceId', 'seq', 'max', 'turns'],
    'lines: rateDenied, missing, names of missing…, leases as 9 lines each…',
    (reply) => String(reply).split('\n'),
  ),
  renew: verb('renew', ['leases...'], 'one letter per lease: o ok, l lost, c cancelled', String),
  settle: verb(
    'settle',
    ['settlements...'],
    'three letters per settlement: a accepted, s stale, c cancelled, g gone; job status; group status; - for none',
    String,
  ),
  giveBack: verb(
    'give-back',
    ['leases...'],
    'one letter per lease: r ready, l lane, s stale, c cancelled, g gone',
    String,
  ),
  giveBackAll: verb('give-back-all', ['instanceId', 'max'], '{returned, more}', values),
  recover: verb(
    'recover',
    ['orphanedMessage', 'orphanedSignature', 'randoms...'],
    '{recovered, more, name and traceparent of dead…}',
    values,
  ),
  sweep: verb('sweep', ['max', 'instanceKeptMs'], '{swept, more, nextInMs or -1}', values),
  watch: verb('watch', ['max'], '{looked, more, nextInMs or -1, key, code, traceparent, …}', values),
  reconcile: verb(
    'reconcile',
    ['from', 'span', 'max', 'jobsMax'],
    '{looked, repaired, cursor or -1}',
    values,
  ),
  redrive: verb(
    'redrive',
    ['mode', 'key', 'jobId', 'signature', 'tenant', 'max', 'after', 'looksMax'],
    '{moved, more, 0 | the last one looked at: go on behind it}',
    values,
  ),
  listLetters: verb(
    'list-letters',
    ['key', 'jobId', 'signature', 'tenant', 'limit', 'cursor', 'looksMax'],
    '{0: no more | 1: more | −cursor: go on there, cursor behind it, JSON of a DeadLetter, …}',
    values,
  ),
  listSignatures: verb(
    'list-signatures',
    ['key', 'tenant', 'max', 'cursor'],
    '{cursor or 0, signature, count, firstFailedAt, lastFailedAt, processorType, code, groupId, jobId, message, …}',
    values,
  ),
  claimAggregation: verb(
    'claim-aggregation',
    ['key', 'token', 'ttlMs', 'looksMax', 'any', 'types...'],
    "{'claimed', key, round, total, success, failed, startedAt, completedAt, traceparent, types…} | {'none', nextInMs or -1} | {'no'}",
    values,
  ),
  renewAggregation: verb('renew-aggregation', ['key', 'round', 'token', 'ttlMs'], '1 held, 0 lost', Number),
  readResults: verb(
    'read-results',
    ['key', 'limit', 'cursor'],
    '{cursor or -1, results as 3 lines each…}',
    values,
  ),
  findResult: verb(
    'find-result',
    ['key', 'jobId', 'max', 'cursor'],
    '{cursor or 0} | {0, result as 3 lines}',
    values,
  ),
  finishAggregation: verb('finish-aggregation', ['key', 'round', 'token', 'data'], 'done | lost', String),
  failAggregation: verb(
    'fail-aggregation',
    ['key', 'round', 'token', 'message', 'retries', 'pauseMs'],
    'again | failed | lost',
    String,
  ),
  heartbeat: verb(
    'heartbeat',
    ['instanceId', 'startedAt', 'slots', 'waiting', 'types', 'called...'],
    '1',
    Number,
  ),
  leave: verb('leave', ['instanceId'], '1', Number),
  listInstances: verb('list-instances', [], '{id, startedAt, slots, waiting, types, silentMs, …}', values),
  once: verb(
    'once',
    ['verb', 'name', 'token', 'ms', 'result'],
    "{'run'} | {'busy', retryInMs} | {'done', result} | {'ok'} | {'no'}",
    values,
  ),
  readGroup: verb('read-group', ['key'], 'JSON of a GroupView | nil', text),
  readResult: verb('read-result', ['key', 'round'], 'JSON of the raw numbers | nil', text),
  readJob: verb('read-job', ['key', 'jobId'], 'JSON of a JobView | nil', text),
  listActiveGroups: verb('list-active-groups', ['limit'], '{JSON of a GroupView, …}', values),
  listGroups: verb(
    'list-groups',
    ['tenant', 'tenantId', 'status', 'limit', 'cursor', 'scanMax'],
    '{cursor or 0, cursor behind it, JSON of a GroupView, …}',
    values,
  ),
  listJobs: verb(
    'list-jobs',
    ['key', 'status', 'limit', 'cursor', 'scanMax'],
    '{cursor or -1, JSON of a JobView…}',
    values,
  ),
  readTenants: verb('read-tenants', ['tenantId'], '{JSON of a TenantView…}', values),
  readQueues: verb('read-queues', [], 'JSON of a QueuesView', String),
  readResources: verb(
    'read-resources',
    [],
    'JSON of ResourceStates in any order, with their points as lists',
    String,
  ),
  readSlowness: verb(
    'read-slowness',
    ['key'],
    'JSON of a GroupSlowness with its points as lists | nil',
    text,
  ),
  explain: verb('explain', ['key', 'jobId'], 'JSON of ExplainFacts | nil', text),
};
