import type { GroupPatch, Moment, TenantPatch } from '../model.js';
import type { GroupAnswer, GroupDefinition, GroupStore, NewJob } from '../ports.js';
import { type Added, addedHere, type Made, madeHere } from '../refusals.js';
import { fingerprintOf } from '../rules/fingerprint.js';
import type { GroupStatus } from '../states.js';
import type { EngineLink } from './engine-link.js';
import type { Values } from './scripts.js';

const orNone = (value: number | undefined): number | string => value ?? '-';

/** Groups and tenants on Redis. */
export const redisGroups = (link: EngineLink): GroupStore => ({
  create: async (definition) => madeHere(definition, await create(link, definition)),
  add: async (definition, jobs, incoming) =>
    addedHere(definition, await add(link, definition, jobs, incoming)),
  async seal(key, total) {
    const reply = await link.run('sealGroup', { key, total: orNone(total) });
    if (reply[0] === 'mismatch') return { kind: 'mismatch', registered: Number(reply[1]) };
    return answerOf(reply);
  },
  cancel: async (key) => answerOf(await link.run('cancelGroup', { key })),
  pause: async (key) => answerOf(await link.run('pauseGroup', { key, paused: 1 })),
  resume: async (key) => answerOf(await link.run('pauseGroup', { key, paused: 0 })),
  forgetSlowness: async (key) => answerOf(await link.run('forgetSlowness', { key })),
  update: async (key, patch) => answerOf(await link.run('updateGroup', { key, ...patchOf(patch) })),
  async updateTenant(tenantId, patch) {
    const { weight, rps, burst, concurrency } = patchOf(patch);
    await link.run('updateTenant', { tenantId, weight, rps, burst, concurrency });
  },
});

function definitionOf(definition: GroupDefinition) {
  const { key, tenant, tenantId, weight, priorityLevel, rps, burst, concurrency } = definition;
  const { timeoutMs, deadline, traceparent } = definition;
  return {
    key,
    tenant,
    tenantId,
    weight,
    level: priorityLevel,
    rps: orNone(rps),
    burst: orNone(burst),
    concurrency: orNone(concurrency),
    timeoutMs,
    deadline: orNone(deadline),
    traceparent,
    fingerprint: fingerprintOf(definition),
  };
}

/** See Shard. */
export const create = async (link: EngineLink, definition: GroupDefinition): Promise<Made> =>
  (await link.run('createGroup', definitionOf(definition))) as Made;

/** See Shard. */
export async function add(
  link: EngineLink,
  definition: GroupDefinition,
  jobs: readonly NewJob[],
  incoming: number,
): Promise<Added> {
  const list: string[] = [];
  for (const job of jobs) list.push(job.id, bodyOf(job));
  const later = incoming - jobs.length;
  const [kind, ...rest] = await link.run('addJobs', { ...definitionOf(definition), later, jobs: list });
  if (kind === 'elsewhere') return { kind: 'elsewhere' };
  if (kind === 'sealed') return { kind: 'sealed', unknown: Number(rest[0]) };
  if (kind === 'full') {
    const [scope, queued, max] = rest;
    return { kind: 'full', scope: scope as 'engine' | 'tenant', queued: Number(queued), max: Number(max) };
  }
  const [added, known, registered] = rest.map(Number) as [number, number, number];
  return { kind: 'added', added, known, registered };
}

/** What is stored of a job, in lines: what is not usual, the payload (JSON has no line breaks), the processor type. */
function bodyOf({ processorType, payload, cost, charge, notBefore, deadline, traceparent }: NewJob): string {
  const usual =
    cost === 1 &&
    charge === undefined &&
    notBefore === undefined &&
    deadline === undefined &&
    traceparent === undefined;
  const unusual = usual
    ? ''
    : `${cost} ${orNone(charge)} ${orNone(notBefore)} ${orNone(deadline)} ${traceparent ?? '-'}`;
  return `${unusual}\n${payload}\n${processorType}`;
}

function answerOf([kind, status, changed]: Values): GroupAnswer {
  if (kind === 'not-found') return { kind: 'not-found' };
  if (kind === 'ended') return { kind: 'ended', status: status as GroupStatus };
  return { kind: 'done', status: status as GroupStatus, changed: Number(changed) === 1 };
}

/** `=` leaves a value, `-` takes it away. */
const change = (value: Moment | string | null | undefined): number | string => {
  if (value === undefined) return '=';
  if (value === null) return '-';
  return value instanceof Date ? value.getTime() : value;
};

const patchOf = (patch: GroupPatch & TenantPatch) => ({
  weight: change(patch.weight),
  level: change(patch.priorityLevel),
  rps: change(patch.rps),
  burst: change(patch.burst),
  concurrency: change(patch.concurrency),
  timeoutMs: change(patch.timeoutMs),
  deadline: change(patch.deadline),
});
