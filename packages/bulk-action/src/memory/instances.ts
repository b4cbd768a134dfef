import { INSTANCE_TTL_MS, type Instances } from '../ports.js';
import type { MemoryState } from './state.js';

/** The instance registry on the memory state. */
export const memoryInstances = (state: MemoryState): Instances => ({
  heartbeat: async (instance) =>
    state.step(() => {
      const known = state.instances.get(instance.id);
      const { seq = 0, answer = [], suspects = 0 } = known ?? {};
      state.instances.set(instance.id, { ...instance, seenMs: state.nowMs, seq, answer, suspects });
      for (const type of instance.processorTypes)
        state.resourceNames.set(type, instance.resources?.[type] ?? type);
    }),
  leave: async (instanceId) => state.step(() => void state.instances.delete(instanceId)),
  list: async () =>
    state.step(() =>
      [...state.instances.values()].flatMap(({ id, startedAt, slots, waiting, processorTypes, seenMs }) => {
        const silentMs = state.nowMs - seenMs;
        if (silentMs >= INSTANCE_TTL_MS) return [];
        return [{ id, startedAt, slots, waiting, processorTypes, silentMs }];
      }),
    ),
});
