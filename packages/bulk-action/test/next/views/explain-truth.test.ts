import { seededRng } from '@millrace/foundation';
import { expect, it } from 'vitest';
import type { InboxEntry } from '../../../src/next/engine/engine.js';
import { firstPosition } from '../../../src/next/engine/state/position.js';
import type { Group } from '../../../src/next/engine/state/records.js';
import { type Explanation, explain } from '../../../src/next/engine/views/explain.js';
import type { GateName } from '../../../src/next/engine/views/gates.js';
import { locate } from '../../../src/next/engine/views/job-view.js';
import { Scene } from './scene.js';

/** Gates that open within a commit, when what is ahead starts. All others stay closed until something else happens. */
const TURNS: readonly GateName[] = ['TURN', 'READY_FULL', 'WORKER', 'MAX_SHARE', 'MIN_SHARE'];
const SLOTS: readonly GateName[] = ['READY_FULL', 'WORKER'];

/** The other gates, without those of learnt limits and of ended jobs. */
const KINDS: readonly GateName[] = [
  ...([
    'DONE',
    'PAUSED',
    'TENANT_PAUSED',
    'BACK_OFF',
    'ORDERED',
    'GROUP_CAP',
    'TENANT_CAP',
    'RESOURCE_CAP',
  ] as const),
  ...(['GROUP_RATE', 'TENANT_RATE', 'RESOURCE_RATE', 'GLOBAL_RATE'] as const),
];

let free = 0;
const closed = new Set<GateName>();

type Rng = ReturnType<typeof seededRng>;

interface Told {
  readonly group: Group;
  readonly position: number;
  readonly told: Explanation;
}

/** Explains every job that waits. */
function explainAll({ state }: Scene): Told[] {
  const all: Told[] = [];
  for (const group of state.groups.values()) {
    const positions = new Set<number>(group.delayed.keys());
    for (const job of [...group.ready, ...group.front]) positions.add(job.position);
    for (const { address, lines } of group.chunks.values())
      for (let index = 0; index < lines.length; index++) positions.add(firstPosition(address) + index);
    for (const position of positions) {
      if (locate(group, position)?.status !== 'PENDING') continue;
      const told = explain(state, group, position);
      if (told) all.push({ group, position, told });
    }
  }
  return all;
}

const gatesOf = ({ told }: Told): readonly GateName[] => told.gates.map(({ gate }) => gate);

function act(scene: Scene, rng: Rng): void {
  const groupId = `${rng.pick(['x', 'y', 'z'])}/g${rng.integer(0, 3)}`;
  const nowMs = Math.floor(scene.nowUs / 1000);
  const dice = rng.integer(0, 9);
  if (dice < 3 && scene.state.shard.pending < 40)
    scene.submit(
      groupId,
      Array.from({ length: rng.integer(1, 4) }, () => ({
        type: rng.pick(['T', 'T', 'U', 'CALL']),
        cost: rng.integer(1, 3),
        deadlineMs: rng.chance(0.1) ? nowMs + rng.integer(1, 200) : undefined,
      })),
      {
        settings: {
          isSealable: false,
          weight: rng.integer(1, 3),
          isOrdered: rng.chance(0.2),
          ...(rng.chance(0.3) && { rps: rng.integer(5, 50) }),
          ...(rng.chance(0.3) && { concurrency: rng.integer(1, 2) }),
          ...(rng.chance(0.1) && { notBeforeMs: nowMs + 100 }),
        },
        queue: scene.state.groups.get(groupId)?.isOrdered !== false ? 5 : rng.pick([5, 5, 9]),
      },
    );
  else if (dice === 3 && scene.state.groups.has(groupId))
    scene.receive({ kind: 'pause-group', groupId, isPaused: rng.chance(0.4) });
  else if (dice === 4) command(scene, rng, groupId);
  else if (scene.running.length > 0) scene.settle(outcome(rng), rng.integer(1, 40));
}

function command(scene: Scene, rng: Rng, groupId: string): void {
  const tenantId = rng.pick(['x', 'y', 'z']);
  const isPaused = rng.chance(0.2);
  const group = scene.state.groups.get(groupId);
  const position = rng.chance(0.5) ? group?.head?.position : [...(group?.delayed.keys() ?? [])][0];
  const update = { rps: rng.pick([null, 20]), concurrency: rng.pick([null, 1, 2]) };
  const commands: readonly InboxEntry[] = [
    { kind: 'pause-tenant', tenantId, isPaused },
    { kind: 'pause-all', isPaused },
    { kind: 'pause-resource', name: 'CALL', isPaused },
    { kind: 'update-tenant', tenantId, update },
    ...(position === undefined
      ? []
      : [
          { kind: 'cancel-job', groupId, position } as const,
          { kind: 'run-job', groupId, position } as const,
        ]),
  ];
  scene.receive(rng.pick(commands));
}

const outcome = (rng: Rng) =>
  rng.chance(0.2)
    ? ({ kind: 'retry', reason: 'TRANSIENT_ERROR', delayMs: rng.integer(0, 60), spendsRetry: true } as const)
    : ({ kind: 'success' } as const);

/** Reports whether the next commit moves something in time: a due job or a parked group. */
const isDue = ({ state }: Scene): boolean =>
  (state.delayed.peek()?.dueMs ?? Infinity) <= state.nowMs ||
  (state.parked.peek()?.parkedUntilUs ?? Infinity) <= state.nowUs;

it.each(Array.from({ length: 12 }, (_, seed) => [seed]))('explain tells the truth, seed %i', (seed) => {
  const rng = seededRng(seed);
  const scene = new Scene({
    backpressure: { globalRps: rng.pick([0, 60]) },
    resources: { CALL: { rps: rng.pick([10, 40]), concurrency: 2 } },
  });
  scene.instance('a', 2, ['T', 'U', 'CALL']);
  scene.instance('b', 1, ['T', 'U', 'CALL']);
  for (let step = 0; step < 200; step++) {
    scene.nowUs += rng.pick([0, 0, 5_000, 30_000]);
    if (rng.chance(0.5)) scene.commitOnce();
    act(scene, rng);
    scene.receive();
    let all = explainAll(scene);
    const waitsForSlot = all.find(
      (told) => told.told.gates.length > 0 && gatesOf(told).every((gate) => SLOTS.includes(gate)),
    );
    if (waitsForSlot && rng.chance(0.3)) {
      scene.instance(`c${step}`, scene.state.readyJobs + 1, ['T', 'U', 'CALL']);
      all = explainAll(scene);
      const { position, group } = waitsForSlot;
      const again = all.find((each) => each.position === position && each.group === group) as Told;
      // With more slots a tenant may be below its minimum share.
      expect(gatesOf(again).filter((gate) => gate !== 'MIN_SHARE')).toEqual([]);
    }
    const wasDue = isDue(scene);
    const started = new Set(
      // A job whose chunk is not loaded starts with the second commit.
      [...(scene.commitOnce() ?? []), ...(scene.commitOnce() ?? [])].map(
        ({ groupId, position }) => `${groupId} ${position}`,
      ),
    );
    for (const told of all) {
      const isStarted = started.has(`${told.group.id} ${told.position}`);
      // A due retry that is past its deadline ends, and the next job of its ordered group starts in the same commit. One that
      // has the next turn of a parked tenant ends the pause.
      const moved: readonly GateName[] = wasDue ? [...TURNS, 'ORDERED', 'TENANT_RATE'] : TURNS;
      const held = gatesOf(told).filter((gate) => !moved.includes(gate));
      if (isStarted) expect(held, JSON.stringify(told.told)).toEqual([]);
      else for (const gate of held) closed.add(gate);
      if (told.told.gates.length > 0 || wasDue) continue;
      expect(isStarted, JSON.stringify(told.told)).toBe(true);
      free += 1;
    }
    scene.instance(`c${step}`, 0, ['T', 'U', 'CALL']);
  }
});

it('has explained jobs that were free to start, and gates of every kind', () => {
  expect(free).toBeGreaterThan(100);
  expect([...closed].sort()).toEqual([...KINDS].sort());
});
