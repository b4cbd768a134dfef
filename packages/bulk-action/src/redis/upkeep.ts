import { INSTANCE_KEPT_MS, type Upkeep } from '../ports.js';
import type { EngineLink } from './engine-link.js';

/** Upkeep on Redis. */
export const redisUpkeep = (link: EngineLink): Upkeep => ({
  async sweep(max) {
    const reply = await link.run('sweep', { max, instanceKeptMs: INSTANCE_KEPT_MS });
    const [swept, more, next] = reply.map(Number) as [number, number, number];
    return { swept, more: more === 1, ...(next >= 0 && { nextInMs: next }) };
  },
});
