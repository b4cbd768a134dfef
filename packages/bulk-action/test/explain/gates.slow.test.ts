import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GateName, GateView } from '../../src/rules/explain.js';
import { type Around, anyWorld, type JobName, pick, World, type WorldPlan } from './world.js';

const ROUNDS_MAX = 120;

/** Open already, or a fact about instances that does not keep the store from handing the job over. */
const isClosed = ({ gate, opensInMs }: GateView): boolean => gate !== 'NO_PROCESSOR' && opensInMs !== 0;

/** Opens one gate. */
async function open(world: World, name: JobName, view: GateView): Promise<void> {
  const { groups } = world.harness.store;
  const tenantId = (await world.harness.store.views.group(name.key))?.tenantId as string;
  switch (view.gate) {
    case 'PAUSED':
      await groups.resume(name.key);
      return;
    case 'GROUP_CAP':
      await groups.update(name.key, { concurrency: null });
      return;
    case 'TENANT_CAP':
      await groups.updateTenant(tenantId, { concurrency: null });
      return;
    case 'NO_PROCESSOR':
      await world.learn((await world.view(name)).processorType);
      return;
    case 'MAX_SHARE':
    case 'READY_FULL':
    case 'WORKER':
      await world.addPool(1);
      return;
    case 'GROUP_RATE':
      if (view.opensInMs !== undefined) break;
      await groups.update(name.key, { rps: null });
      return;
    case 'TENANT_RATE':
      if (view.opensInMs !== undefined) break;
      await groups.updateTenant(tenantId, { rps: null });
      return;
    case 'GLOBAL_RATE':
      if (view.opensInMs !== undefined) break;
      // What is in ready has its tokens: with a worker it spends them.
      await world.addPool(1);
      return;
    case 'TURN':
      await world.addPool(1);
      return world.drain(2000);
    default:
      break;
  }
  const ms = view.opensInMs as number;
  expect(ms, `${view.gate} says when it opens`).toBeGreaterThan(0);
  await world.harness.advance(ms);
}

/** Which gate to open next: those who come first last, and a gate that opens by itself only once it is the next to. */
function choose(gates: readonly GateView[], n: number): GateView {
  const closed = gates.filter((view) => view.opensInMs !== 0);
  const firm = closed.filter(({ gate }) => gate !== 'TURN');
  const some = firm.length > 0 ? firm : closed;
  const view = some[n % some.length] as GateView;
  if (view.opensInMs === undefined) return view;
  const timed = some.filter(({ opensInMs }) => opensInMs !== undefined);
  return timed.reduce((a, b) => ((a.opensInMs as number) <= (b.opensInMs as number) ? a : b));
}

/** Gates that those before the job may take with them when they are passed over in the same step. */
const MAY_FALL: Readonly<Record<Parameters<Around>[0], readonly GateName[]>> = {
  dispatch: ['TURN', 'MAX_SHARE'],
  // Who could run in its place may turn out to come after a costlier job that cannot.
  fetch: ['TURN', 'MAX_SHARE'],
  reserve: ['WORKER', 'GROUP_CAP', 'TENANT_CAP'],
};

/** Asks before every step of the store, and compares what the step does to the job with the answer. */
const watch = (world: World, name: JobName, plan: WorldPlan, seen: Set<GateName>): Around =>
  async function around(verb, step) {
    const before = await world.explain(name);
    for (const { gate } of before.gates) seen.add(gate);
    const { passedOver } = await step();
    const { place } = await world.view(name);
    const what = `${verb} of ${JSON.stringify(before)}`;
    const closed = before.gates.filter(isClosed).map(({ gate }) => gate);
    const advanced =
      (before.job.place !== 'READY' && place === 'READY') ||
      (before.job.place === 'READY' && place === 'IN_FLIGHT');
    if (advanced) {
      // Groups above their share come first and are passed over, too.
      const fallen = passedOver > 0 || plan.config.maxShare < 1 ? MAY_FALL[verb] : [];
      expect(
        closed.filter((gate) => !fallen.includes(gate)),
        what,
      ).toEqual([]);
    }
    // Nothing in its way: the next move is its own.
    if (verb === 'fetch' && before.job.place === 'LANE' && closed.length === 0)
      expect(place, what).toBe('READY');
  };

const ALL: readonly GateName[] = [
  'PAUSED',
  'BACK_OFF',
  'NO_PROCESSOR',
  'GROUP_CAP',
  'TENANT_CAP',
  'MAX_SHARE',
  'GROUP_RATE',
  'TENANT_RATE',
  'GLOBAL_RATE',
  'READY_FULL',
  'TURN',
  'WORKER',
];

describe('bulk-action BA-2: the gates that explain names', () => {
  it('bulk-action BA-2: hold the job as long as one is closed, and opening them all lets it start', async () => {
    const seen = new Set<GateName>();
    const choices = fc.array(fc.nat(20), { minLength: 20, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(anyWorld, choices, async (plan, some) => {
        const world = await World.of(plan);
        const name = pick(world, plan.target);
        for (let round = 0; ; round++) {
          await world.drive(watch(world, name, plan, seen));
          const explanation = await world.explain(name);
          const { gates, job } = explanation;
          if (job.place === 'IN_FLIGHT' || job.place === 'DONE') break;
          const what = `${JSON.stringify(explanation)} in round ${round}`;
          expect(round, what).toBeLessThan(ROUNDS_MAX);
          // At rest: were nothing in its way, it would have started.
          expect(gates.filter(isClosed), what).not.toEqual([]);
          await open(world, name, choose(gates, some[round % some.length] as number));
        }
      }),
      { numRuns: 400 },
    );
    // A gate that was never met was not tested.
    expect([...seen]).toEqual(expect.arrayContaining([...ALL]));
  }, 60_000);
});
