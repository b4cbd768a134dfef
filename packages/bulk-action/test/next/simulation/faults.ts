import {
  type Action,
  bury,
  comeBack,
  INSTANCES_MAX,
  instanceOf,
  join,
  outcomeOf,
  settleOne,
} from './actions.js';
import { RESOURCES } from './truth.js';

/** What goes wrong. */
export const FAULTS: readonly Action[] = [
  {
    name: 'repeat a settlement',
    weight: 2,
    run({ rng, sent, journal, options }) {
      if (sent.length === 0) return;
      const { instanceId, settlement } = rng.pick(sent);
      const kind = rng.chance(0.5) ? settlement.outcome : ({ kind: 'failure', code: 'CROSSED' } as const);
      if (settlement.outcome.kind === 'returned') options.tally.meet('repeat what was given back');
      else
        journal.inbox.push({ kind: 'settled', instanceId, settlements: [{ ...settlement, outcome: kind }] });
    },
  },
  {
    name: 'settle for another instance',
    weight: 1,
    run(world) {
      const [from, to] = [
        instanceOf(world, ({ running }) => running.length > 0),
        instanceOf(world, () => true),
      ];
      if (!from || !to || from === to) return;
      const { groupId, position, attempt } = world.rng.pick(from.running);
      const settlement = { groupId, position, attempt, durationMs: 1, outcome: { kind: 'success' } } as const;
      world.journal.inbox.push({ kind: 'settled', instanceId: to.id, settlements: [settlement] });
    },
  },
  {
    name: 'an instance joins',
    weight: 1,
    run: (world) => world.instances.size < INSTANCES_MAX && join(world, world.rng.integer(0, 6)),
  },
  {
    name: 'an instance changes its slots',
    weight: 0.5,
    run(world) {
      const instance = instanceOf(
        world,
        ({ state, id }) => state === 'LIVE' && world.journal.instances.has(id),
      );
      if (!instance) return;
      instance.slots = world.rng.integer(0, 6);
      world.journal.announce(instance.id, {
        slots: instance.slots,
        types: instance.types,
        resources: RESOURCES,
      });
    },
  },
  {
    name: 'an instance falls silent',
    weight: 0.7,
    run(world) {
      const instance = instanceOf(
        world,
        ({ state, id }) => state === 'LIVE' && id !== world.owner?.instanceId,
      );
      if (instance) instance.state = 'SILENT';
    },
  },
  {
    name: 'an instance dies',
    weight: 0.5,
    run(world) {
      const instance = instanceOf(
        world,
        ({ state, id }) => state !== 'GONE' && id !== world.owner?.instanceId,
      );
      if (instance) instance.state = 'GONE';
    },
  },
  { name: 'an instance comes back', weight: 0.7, run: comeBack },
  {
    name: 'a silent instance settles',
    weight: 1,
    run(world) {
      const instance = instanceOf(world, ({ state, running }) => state === 'SILENT' && running.length > 0);
      if (instance) settleOne(world, instance, world.rng.pick(instance.running), outcomeOf(world));
    },
  },
  { name: 'instances are declared dead', weight: 0.8, run: bury },
  { name: 'the owner dies', weight: 0.6, run: (world) => world.loseOwner(true) },
  { name: 'the owner is replaced', weight: 0.6, run: (world) => world.loseOwner(false) },
  {
    name: 'the owner dies before its commit is stored',
    weight: 0.6,
    run(world) {
      if (world.send()) world.loseOwner(world.rng.chance(0.5));
    },
  },
  {
    name: 'the owner dies before its commit is answered',
    weight: 0.6,
    run(world) {
      if (!world.send()) return;
      world.store();
      world.loseOwner(world.rng.chance(0.5));
    },
  },
  {
    name: 'the clock jumps forward',
    weight: 0.2,
    run: (world) => world.jump(world.rng.integer(1, 4_000)),
  },
  {
    name: 'the clock jumps back',
    weight: 0.2,
    run: (world) => world.jump(-world.rng.integer(1, 4_000)),
  },
];
