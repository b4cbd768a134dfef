import type { IdempotencyStore, Instances, WakeUpKind, WakeUps } from '../ports.js';
import { wholePart } from '../rules/shard-config.js';
import { mergeInstances } from '../rules/shard-views.js';
import type { Shards } from './shards.js';

/**
 * The instances of several shards. The slots of an instance are divided among them, since they share it; each hears of all that
 * wait, since any of them may take any, as reserve tells them too.
 */
export const shardedInstances = (shards: Shards): Instances => ({
  async heartbeat(instance) {
    // Many instances of few slots must not all give them to the first shard.
    const offset = shards.of(instance.id);
    await shards.working(({ instances }, shard) => {
      const slots = wholePart(instance.slots, shards.count, (shard + offset) % shards.count);
      return instances.heartbeat({ ...instance, slots });
    });
  },
  async leave(instanceId) {
    await shards.working(({ instances }) => instances.leave(instanceId));
  },
  list: async () => mergeInstances(await shards.all(({ instances }) => instances.list())),
});

/** Effects that happen once, each in the shard of its key. */
export const shardedOnce = (shards: Shards): IdempotencyStore => {
  const of = (key: string): IdempotencyStore => shards.at(shards.of(key)).once;
  return {
    begin: (key, token, leaseMs) => of(key).begin(key, token, leaseMs),
    renew: (key, token, leaseMs) => of(key).renew(key, token, leaseMs),
    finish: (key, token, result, ttlMs) => of(key).finish(key, token, result, ttlMs),
    release: (key, token) => of(key).release(key, token),
  };
};

/** The wake-ups of several shards. */
export function shardedWakeUps(shards: Shards): WakeUps {
  /** Who has rung since a wake-up was last handed on. */
  const rung = new Map<WakeUpKind, Set<number>>();
  const all = (ends: readonly (() => void)[]) => () => {
    for (const end of ends) end();
  };
  return {
    listen: (kind, ring) =>
      all(
        shards.stores.map(({ wakeUps }, shard) =>
          wakeUps.listen(kind, () => {
            const who = rung.get(kind) ?? new Set();
            rung.set(kind, who.add(shard));
            ring();
          }),
        ),
      ),
    passOn(kind) {
      const who = rung.get(kind) ?? shards.stores.keys();
      rung.delete(kind);
      for (const shard of who) shards.at(shard).wakeUps.passOn(kind);
    },
    subscribe: (listener) => all(shards.stores.map(({ wakeUps }) => wakeUps.subscribe(listener))),
  };
}
