import type { AdmitReason, Gate } from '../ports.js';
import type { BackpressureDestination } from '../states.js';
import type { EngineLink } from './engine-link.js';

const nextOf = (value: number): { nextInMs?: number } => (value < 0 ? {} : { nextInMs: value });

/** The gate on Redis. */
export const redisGate = (link: EngineLink): Gate => ({
  async fetch(max) {
    const [ready, rejected, room, next] = (await link.run('fetch', { max })).map(Number) as number[];
    return {
      ready: ready as number,
      nonReady: 0,
      rejected: rejected as number,
      room: room === 1,
      ...nextOf(next as number),
    };
  },
  async dispatch(max) {
    const [moved, ready, skipped, next] = (await link.run('dispatch', { max })).map(Number) as number[];
    return {
      moved: moved as number,
      ready: ready as number,
      skipped: skipped === 1,
      ...nextOf(next as number),
    };
  },
  async admit(key, jobId) {
    const [destination, reason] = await link.run('admit', { key, jobId });
    if (destination === undefined) return undefined;
    return {
      accepted: destination === 'READY',
      destination: destination as BackpressureDestination,
      reason: reason as AdmitReason,
    };
  },
  async checkRate(key, cost) {
    const [waitMs] = await link.run('checkRate', { key, cost });
    if (waitMs === undefined) return undefined;
    return { allowed: Number(waitMs) === 0, nextInMs: Number(waitMs) };
  },
});
