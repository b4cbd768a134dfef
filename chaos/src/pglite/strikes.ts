import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { until } from '@millrace/testkit';
import type { Plan } from '../outbox/plan.js';
import type { Owners } from './owner.js';
import type { PgliteScale } from './settings.js';

/** Writes of a life before anything happens to it. */
const WRITES_FIRST = 3;
/** So many files, and a database is half made. */
const HALF_MADE_FILES = 3;
const HALF_MADE_WITHIN_MS = 30_000;

/** The directories beside a data directory in which one was being made. */
export const unfinished = (dataDir: string): string[] =>
  readdirSync(dirname(dataDir)).filter((name) => name.startsWith(`${basename(dataDir)}.creating-`));

/**
 * Kills the first process in the middle of making its database.
 * @param dataDir - is not there.
 * @returns what it has left: whether it is half of a database, and none that could be taken for a whole one.
 */
export async function killInTheMaking(
  owners: Owners,
  dataDir: string,
): Promise<{ readonly unfinished: number; readonly isThere: boolean }> {
  const parent = dirname(dataDir);
  const isHalfMade = (name: string) => readdirSync(join(parent, name)).length > HALF_MADE_FILES;
  owners.launch(0);
  await until(() => unfinished(dataDir).some(isHalfMade), {
    what: 'a half-made database',
    deadlineMs: HALF_MADE_WITHIN_MS,
  });
  await owners.kill();
  return { unfinished: unfinished(dataDir).length, isThere: existsSync(dataDir) };
}

/**
 * Kills one process after the other while it writes; before some kills others try to open the directory. The last one is left to live.
 * @param rng - when.
 * @param scale - how often.
 */
export async function killAgainAndAgain(
  owners: Owners,
  plan: Plan,
  rng: Rng,
  { kills, openEvery, openers, killAfterMs }: PgliteScale,
): Promise<void> {
  const share = (life: number) => Math.ceil((plan.batches.length * (life + 1)) / (kills + 1));
  for (let life = 0; life < kills; life++) {
    await owners.begin(share(life));
    await owners.written(WRITES_FIRST);
    if (life % openEvery === openEvery - 1) {
      await Promise.all(Array.from({ length: openers }, () => owners.openBeside()));
      await owners.written(1);
    }
    await wait(rng.integer(...killAfterMs));
    // In the middle of a task and of a write by turns; where no task is left, of a write.
    const isStruck = life % 2 === 0 && (await owners.killAmid('task', rng));
    if (!isStruck && !(await owners.killAmid('write', rng))) throw new Error('nothing is written any more');
  }
  await owners.begin(share(kills));
}
