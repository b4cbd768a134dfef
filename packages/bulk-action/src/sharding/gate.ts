import type { DispatchAnswer, Gate } from '../ports.js';
import type { Places } from './places.js';
import type { Shards } from './shards.js';
import { soonest } from './soonest.js';

const isNothing = (answer: unknown): boolean => answer === undefined;

/** The gates of several shards: each has its own ready queue, and a batch is one of each. */
export const shardedGate = (shards: Shards, places: Places): Gate => ({
  async fetch(max) {
    const answers = await shards.working(({ gate }) => gate.fetch(max));
    return {
      ready: answers.reduce((sum, { ready }) => sum + ready, 0),
      nonReady: answers.reduce((sum, { nonReady }) => sum + nonReady, 0),
      rejected: answers.reduce((sum, { rejected }) => sum + rejected, 0),
      room: answers.some(({ room }) => room),
      ...soonest(answers),
    };
  },
  async dispatch(max): Promise<DispatchAnswer> {
    const answers = await shards.working(({ gate }) => gate.dispatch(max));
    // The due times of a full shard say nothing, and must not hold up the others.
    const open = answers.filter(({ skipped }) => !skipped);
    return {
      moved: answers.reduce((sum, { moved }) => sum + moved, 0),
      ready: answers.reduce((sum, { ready }) => sum + ready, 0),
      skipped: open.length === 0,
      ...soonest(open.length === 0 ? answers : open),
    };
  },
  admit: (key, jobId) => places.at(key, ({ gate }) => gate.admit(key, jobId), isNothing),
  checkRate: (key, cost) => places.at(key, ({ gate }) => gate.checkRate(key, cost), isNothing),
});
