import { ACTIONS, type Action, bury, commit, join, resumeAll, seal, settleOne, take } from './actions.js';
import { FAULTS } from './faults.js';
import { Tally, type Violations } from './trace.js';
import { World, type WorldOptions } from './world.js';

/** What came of one seed. */
export interface Simulated {
  readonly seed: number;
  readonly violations: Violations['list'];
  readonly lines: readonly string[];
}

const STEPS = 350;
/** A seed without faults shows what faults would hide. */
const CALM = 0.15;
const QUIET_STEPS_MAX = 2_000;
const QUIET_PASS_US = 20_000;
const QUIET_PASS_MAX_US = 3_600_000_000;

/** Runs one seed to its end. Stops at the first violation. */
export function simulate(seed: number, options: Partial<WorldOptions> = {}): Simulated {
  const world = new World(seed, { isThorough: false, isVerbose: false, tally: new Tally(), ...options });
  const { violations, lines } = world;
  try {
    runSteps(world);
    if (violations.list.length === 0) runQuietly(world);
    if (violations.list.length === 0) world.act('the end', () => world.judgeEnd());
  } catch (error) {
    violations.check(false, 'I10', () => `the engine throws ${(error as Error).stack}`);
  }
  return { seed, violations: violations.list, lines };
}

function runSteps(world: World): void {
  const { rng, violations } = world;
  const rows = rng.chance(CALM) ? ACTIONS : [...ACTIONS, ...FAULTS];
  const sum = rows.reduce((total, { weight }) => total + weight, 0);
  for (let left = rng.integer(1, 3); left > 0; left--) join(world, rng.integer(1, 6));
  for (let step = 0; step < STEPS && violations.list.length === 0; step++) {
    if (!world.owner && rng.chance(0.3)) world.act('takeover', () => world.takeOver());
    const { name, run } = pick(rows, rng.next() * sum);
    world.act(name, () => run(world));
  }
}

function pick(rows: readonly Action[], at: number): Action {
  let left = at;
  for (const row of rows) {
    left -= row.weight;
    if (left < 0) return row;
  }
  return rows[0] as Action;
}

/** I10: after the last fault all work ends, if someone resumes and seals. */
function runQuietly(world: World): void {
  const { truth, violations } = world;
  if (!world.owner) world.act('takeover', () => world.takeOver());
  resumeAll(world);
  for (const groupId of truth.groups.keys()) seal(world, groupId);
  join(world, 4);
  let passUs = QUIET_PASS_US;
  for (let step = 0; step < QUIET_STEPS_MAX && violations.list.length === 0; step++) {
    let isIdle = true;
    world.act('quiet', () => {
      world.owner?.receive(Infinity);
      bury(world);
      for (const instance of world.instances.values()) {
        if (instance.state !== 'LIVE') continue;
        take(world, instance);
        for (const delivery of [...instance.running])
          settleOne(world, instance, delivery, { kind: 'success' });
      }
      isIdle = !commit(world);
    });
    if (isIdle && truth.open + truth.openGroups === 0) return;
    // Nothing happens before a token or a due time comes.
    passUs = isIdle ? Math.min(passUs * 2, QUIET_PASS_MAX_US) : QUIET_PASS_US;
    world.pass(passUs);
  }
}
