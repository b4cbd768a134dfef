import type { Instances } from '../ports.js';
import type { EngineLink } from './engine-link.js';

const VALUES = 6;

/** The instance registry on Redis. */
export const redisInstances = (link: EngineLink): Instances => ({
  async heartbeat({ id, startedAt, slots, waiting, processorTypes, resources = {} }) {
    const types = JSON.stringify(processorTypes);
    const called = processorTypes.flatMap((type) => [type, resources[type] ?? type]);
    await link.run('heartbeat', { instanceId: id, startedAt, slots, waiting, types, called });
  },
  async leave(instanceId) {
    await link.run('leave', { instanceId });
  },
  async list() {
    const reply = await link.run('listInstances', {});
    return Array.from({ length: reply.length / VALUES }, (_, index) => {
      const [id, startedAt, slots, waiting, types, silentMs] = reply.slice(index * VALUES);
      return {
        id: String(id),
        startedAt: Number(startedAt),
        slots: Number(slots),
        waiting: Number(waiting),
        processorTypes: JSON.parse(String(types)) as string[],
        silentMs: Number(silentMs),
      };
    });
  },
});
