import { RECONCILE_JOBS_MAX, RECONCILE_SPAN, type Watch } from '../ports.js';
import type { EngineLink } from './engine-link.js';

/** The watch on Redis. */
export const redisWatch = (link: EngineLink): Watch => ({
  async look(max) {
    const [looked, more, next, ...ended] = await link.run('watch', { max });
    return {
      timedOut: Array.from({ length: ended.length / 3 }, (_, index) => ({
        key: String(ended[index * 3]),
        code: String(ended[index * 3 + 1]),
        traceparent: String(ended[index * 3 + 2]),
      })),
      looked: Number(looked),
      more: Number(more) === 1,
      ...(Number(next) >= 0 && { nextInMs: Number(next) }),
    };
  },
  async reconcile(max, cursor = '0') {
    const args = { from: cursor, span: RECONCILE_SPAN, max, jobsMax: RECONCILE_JOBS_MAX };
    const [looked, repaired, next] = await link.run('reconcile', args);
    return {
      looked: Number(looked),
      repaired: Number(repaired),
      ...(Number(next) >= 0 && { cursor: String(next) }),
    };
  },
});
