import type { Explanation as FormerExplanation } from '../../../rules/explain.js';
import { ratePerSecond } from '../../../rules/rate-window.js';
import { bodyAt } from '../format/chunk.js';
import type { Chunk } from '../state/chunks.js';
import { addressOf, indexOf, type Position } from '../state/position.js';
import type { Group } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { type Ahead, jobsAhead, othersAhead } from './ahead.js';
import { type GateName, type GateView, gatesOf } from './gates.js';
import { type JobView, jobView, locate } from './job-view.js';

/** Why a job does not run, and when it will. */
export interface Explanation extends Pick<FormerExplanation, 'etaMs'> {
  /** Without its payload. */
  readonly job: Omit<JobView, 'payload'>;
  /** The first of `gates`; undefined if the job starts with the next commit. */
  readonly gate: GateName | undefined;
  /** Everything that must change before the job runs, in the order in which the job meets it. */
  readonly gates: readonly GateView[];
  /** `jobsAhead` is an estimate if chunks before the job are not loaded. */
  readonly position: Ahead;
}

/**
 * Explains why a job does not run. Returns undefined if the group has no job at this position.
 * @param chunk - its chunk, read from the journal. Without it, and if the engine has not loaded it, the type of the job and its
 * cost are unknown: gates of its resource are left out, and its cost counts as 1.
 */
export function explain(
  state: EngineState,
  group: Group,
  position: Position,
  chunk: Chunk | undefined = group.chunks.get(addressOf(position)),
): Explanation | undefined {
  const view = jobView(group, position, chunk);
  const found = locate(group, position);
  if (!view || !found) return undefined;
  const { payload: _, ...job } = view;
  const body = chunk ? bodyAt(chunk, indexOf(position)) : found.job?.body;
  const resource = body && state.resourceOfType.get(body.type);
  const isQueued = job.place === 'LANE' || job.place === 'NON_READY';
  const ahead: Ahead = isQueued
    ? { jobsAhead: jobsAhead(group, position), ...othersAhead(state, group, resource) }
    : { jobsAhead: 0, groupsAhead: 0, tenantsAhead: 0 };
  const gates = gatesOf({ state, group, position, found, body, resource, ahead });
  return {
    job,
    gate: gates[0]?.gate,
    gates,
    position: ahead,
    etaMs: etaOf(state, group, ahead, gates),
  };
}

/** Gates that need an action, and the end of the job. */
const STUCK: ReadonlySet<GateName> = new Set(['DONE', 'PAUSED', 'TENANT_PAUSED', 'NO_PROCESSOR']);
/** Gates that only time opens. */
const TIMED = /RATE$|SLOWED$|FROZEN$|BACK_OFF/;

/** Returns the longest of the timed gates, or the time until the jobs before it are done at the present speed. */
function etaOf(
  state: EngineState,
  group: Group,
  { jobsAhead: before, tenantsAhead }: Ahead,
  gates: readonly GateView[],
): number | null {
  if (gates.some(({ gate }) => STUCK.has(gate))) return null;
  if (gates.some(({ gate }) => gate === 'RUNNING')) return 0;
  const opens = Math.max(0, ...gates.map(({ opensInMs = 0 }) => opensInMs));
  if (before === 0 && gates.every(({ gate, opensInMs }) => TIMED.test(gate) && opensInMs !== undefined))
    return opens;
  const rate =
    ratePerSecond(group.settledWindow, state.nowMs) ||
    ratePerSecond(state.starts, state.nowMs) / (1 + tenantsAhead);
  if (rate <= 0) return null;
  return Math.max(opens, Math.ceil(((before + 1) / rate) * 1000));
}
