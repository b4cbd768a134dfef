import type { Rng } from '@millrace/foundation';
import { AGGREGATION_PAUSE_MS, AGGREGATION_RETRIES } from '../../src/aggregation.js';
import type { Outcome } from '../../src/lease.js';
import type { AggregationCommand, ClaimName, Command } from './commands.js';
import type { Memories } from './memories.js';
import { PAYLOADS, PROCESSOR_TYPES } from './world.js';

const TOKENS = ['a1', 'a2', 'a3'];
const TTLS_MS = [0, 100, 5000, 30_000, 60_000];
const NUMBERS = [0.1, 0.2, -7, 0, 1e21, 33.333333333333336];

/** A success that leaves something for its group, most of them ask for an aggregation. */
export function drawSuccess(rng: Rng): Outcome {
  return {
    kind: 'success',
    ...(rng.chance(0.7) && { data: rng.pick(PAYLOADS) }),
    ...(rng.chance(0.7) && { aggregate: true }),
    ...(rng.chance(0.1) && { dropped: true }),
    ...(rng.chance(0.4) && { numbers: { n: rng.pick(NUMBERS), 'm:1': rng.pick(NUMBERS) } }),
  };
}

/** Whether this kind is about aggregations. */
export const isAggregation = (kind: Command['kind']): kind is AggregationCommand['kind'] =>
  kind === 'claim' || kind === 'claimGroup' || kind.endsWith('Aggregation');

/** Draws a command about aggregations: mostly one that there is something for. */
export function drawAggregation(
  kind: AggregationCommand['kind'],
  rng: Rng,
  memories: Memories,
  key: string,
): Command {
  const token = rng.pick(TOKENS);
  const ms = rng.pick(TTLS_MS);
  if (kind === 'claim') {
    const types = rng.pick([undefined, undefined, PROCESSOR_TYPES, ['work'], []]);
    return { kind, token, ms, ...(types && { types }) };
  }
  if (kind === 'claimGroup') {
    const waits = memories.recent(rng, memories.aggregating);
    return { kind, key: waits !== undefined && rng.chance(0.8) ? waits : key, token, ms };
  }
  const known = rng.chance(0.9) ? memories.recent(rng, memories.claims) : undefined;
  const claim: ClaimName = known ?? { key, round: rng.integer(1, 2), token };
  const name = rng.chance(0.1) ? { ...claim, token } : claim;
  if (kind === 'renewAggregation') return { kind, ...name, ms };
  if (kind === 'failAggregation') return { kind, ...name, message: rng.pick(['', 'no "way"\n€']) };
  return { kind, ...name, ...(rng.chance(0.8) && { data: rng.pick(PAYLOADS) }) };
}

/** The next step towards an aggregation that fails for good; undefined when there is none to begin with. */
export function drawSpite(rng: Rng, { spite, claims, aggregating }: Memories): Command | undefined {
  const claim = claims.at(-1);
  if (spite === 'fail' && claim) return { kind: 'failAggregation', ...claim, message: 'never' };
  if (spite === 'rest') return { kind: 'advance', ms: AGGREGATION_RETRIES * AGGREGATION_PAUSE_MS };
  const key = aggregating.at(-1);
  return key === undefined ? undefined : { kind: 'claimGroup', key, token: rng.pick(TOKENS), ms: 5000 };
}
