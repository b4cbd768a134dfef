import { join } from 'node:path';
import { wait } from '@millrace/async-utils';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';
import { BreakingRelease, type Standstill } from '../rolling/breaking.js';
import { RollingCallers } from '../rolling/callers.js';
import {
  checkAddedFields,
  checkBothWorked,
  checkRollingKeys,
  checkRollingLoss,
  checkRollingOnce,
} from '../rolling/check-rolling.js';
import { gatherRollingEvidence } from '../rolling/evidence.js';
import { OLD_RELEASE } from '../rolling/release.js';
import { type RollingScale, rollingScale } from '../rolling/settings.js';
import { openRollingWorld, type RollingWorld } from '../rolling/world.js';

/** What the error of a refused start must say. */
const WHAT_TO_DO = /run the newer release everywhere/;

/** Jobs that are under way when the layout changes. */
const SLOW_MS = 300;

async function run(context: ScenarioContext): Promise<Verdict[]> {
  const scale = rollingScale(context.scale);
  await using world = await openRollingWorld(context, scale);
  const places = Array.from({ length: scale.places }, (_, place) => place);
  await Promise.all(places.map((place) => world.occupy(place, OLD_RELEASE)));
  await using callers = new RollingCallers(world, context.rng.fork('callers'), scale, context.scale);
  await callers.start();
  const over = new AbortController();
  const calling = callers.run(over.signal);
  // It is told below; a migration that fails is told before.
  calling.catch(() => {});
  const migrated = await world.migrate(world.next);
  await rollOut(world, places, scale);
  over.abort();
  await calling;
  await callers.allEnded();
  const broken = await breakAndMend(world, callers, context);
  const isStopped = await world.stopAll();
  const evidence = await gatherRollingEvidence(world, callers);
  const checks = [checkRollingLoss, checkRollingOnce, checkAddedFields, checkRollingKeys, checkBothWorked];
  return [
    ...checks.map((check) => check(evidence)),
    ...broken,
    {
      invariant: 'I11 shutdown ends in time',
      held: isStopped,
      evidence: `${world.started.old} old and ${world.started.new} new processes; migrated ${migrated.join()}; asked again: ${JSON.stringify(callers.refusals)}`,
    },
  ];
}

/** One place after the other, in the full run there and back and there again; the last one of the old release stays. */
async function rollOut(world: RollingWorld, places: readonly number[], scale: RollingScale): Promise<void> {
  const half = places.slice(0, Math.floor(places.length / 2));
  for (let n = 0; n < scale.replacements; n++)
    for (const place of half) {
      await world.occupy(place, n % 2 === 0 ? world.next : OLD_RELEASE);
      await wait(scale.togetherMs);
    }
  // A crash of either: what it held is taken over by the other release.
  await Promise.all([world.kill(0), world.kill(places.length - 1)]);
  await wait(scale.togetherMs);
  for (const place of places.slice(half.length, -1)) await world.occupy(place, world.next);
}

/** A layout that breaks both releases, under the feet of who runs on, and at a start. */
async function breakAndMend(
  world: RollingWorld,
  callers: RollingCallers,
  context: ScenarioContext,
): Promise<Verdict[]> {
  await using breaking = new BreakingRelease(world, join(context.folder, 'breaking'));
  await callers.handIn(SLOW_MS);
  const redis = { still: await breaking.breakRedis(), start: await breaking.refusalOfRedis() };
  await breaking.mendRedis();
  await callers.allEnded();
  const tables = { still: await breaking.breakTables(), start: await breaking.refusalOfTables() };
  await breaking.mendTables();
  await callers.handIn();
  await callers.allEnded();
  return [
    refused('Redis', 'REDIS_LAYOUT_NEWER', redis.start),
    refused('PostgreSQL', 'SCHEMA_NEWER', tables.start),
    stoodStill('Redis', redis.still),
    stoodStill('PostgreSQL', tables.still),
  ];
}

const refused = (store: string, code: string, said: string | undefined): Verdict => ({
  invariant: `a breaking layout in ${store} is refused at the start`,
  held: said?.startsWith(code) === true && WHAT_TO_DO.test(said),
  evidence: said ?? 'it was not refused',
});

const stoodStill = (store: string, { refusals, isUnchanged }: Standstill): Verdict => ({
  invariant: `a breaking layout in ${store} is left alone by who runs on`,
  held: isUnchanged && refusals > 0,
  evidence: `${isUnchanged ? 'nothing' : 'something'} changed by ${refusals} refused calls; after it was taken back all work ended`,
});

registerScenario({
  name: 'rolling-layout',
  what: 'processes of this release and of one with a further layout on the same data, replaced one by one; then a layout that breaks',
  run,
});
