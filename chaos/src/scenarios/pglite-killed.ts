import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rng } from '@millrace/foundation';
import { PgliteDatabase } from '@millrace/postgres';
import { type LedgerEntry, openLedger, pgliteFolder, readLedger, until } from '@millrace/testkit';
import { checkEndedOnce, checkNoLoss, checkNothingLeft } from '../outbox/check-batches.js';
import { checkOneRowEach, checkOrder, checkRuns } from '../outbox/check-effects.js';
import { checkEnds, checkRecords } from '../outbox/check-ends.js';
import { type Evidence, readEvidence } from '../outbox/evidence.js';
import type { Plan, PlannedBatch } from '../outbox/plan.js';
import { ScriptWriter } from '../outbox/scripts.js';
import { drawDags, type PlannedDag } from '../outbox/shapes.js';
import {
  checkKills,
  checkRefused,
  checkTakenOver,
  checkWritten,
  type StoredNote,
} from '../pglite/check-lives.js';
import { type Ending, Owners } from '../pglite/owner.js';
import { type PgliteScale, pgliteScale } from '../pglite/settings.js';
import { killAgainAndAgain, killInTheMaking, unfinished } from '../pglite/strikes.js';
import { TABLES, WRITTEN } from '../pglite/tables.js';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

/** What is late is waited for, so that the verdict can say how late. */
const PATIENCE = 2;
const STOPS_WITHIN_MS = 5000;
/** Nobody else has the database: leases say nothing there. */
const LEASE_MS = 3000;

async function run({ rng, folder, scale: size }: ScenarioContext): Promise<Verdict[]> {
  const scale = pgliteScale(size);
  const plan = drawEmbeddedPlan(rng.fork('plan'), scale);
  const [ledgerPath, planPath, marks, dataDir] = ['ledger', 'plan', 'marks', 'data'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  mkdirSync(marks);
  writeFileSync(planPath, JSON.stringify(plan));
  using ledger = openLedger(ledgerPath);
  await using owners = new Owners(
    { dataDir, ledger: ledgerPath, plan: planPath, marks, leaseMs: LEASE_MS },
    ledger,
  );
  const half = await killInTheMaking(owners, dataDir);
  using template = scale.makesItself ? undefined : await pgliteFolder(makeDatabase);
  // Whole where one was half made, as a copy brought back would be.
  if (template) renameSync(template.dataDir, dataDir);
  await killAgainAndAgain(owners, plan, rng.fork('strikes'), scale);
  const doneInMs = await allEnded(ledgerPath, PATIENCE * scale.doneWithinMs);
  const ending = await owners.end();
  const left = { lock: existsSync(`${dataDir}.lock`), unfinished: unfinished(dataDir).length };
  const found = await lookInside(dataDir, plan, ledgerPath);
  const entries = readLedger(ledgerPath);
  return [
    checkWritten(entries, found.notes),
    ...checkAll(found.evidence),
    checkRefused(entries),
    checkTakenOver(entries, scale.upWithinMs),
    checkConsistent(found.damage, found.tables),
    checkMaking(half, left),
    checkDone(doneInMs, scale),
    checkEnding(ending, left.lock),
    checkKills(entries, half.unfinished > 0),
  ];
}

/**
 * Draws the batches of an embedded outbox with every join, policy and condition. A third of them start together with an order.
 * @param scale - number of tasks, and the duration of each in ms.
 */
function drawEmbeddedPlan(rng: Rng, { tasks, ms }: Pick<PgliteScale, 'tasks' | 'ms'>): Plan {
  const { others: dags } = drawDags(rng.fork('dags'));
  const writer = new ScriptWriter(rng.fork('scripts'), ms);
  const batches: PlannedBatch[] = [];
  let count = 0;
  for (let index = 0; count < tasks; index++) {
    const dag = dags[index % dags.length] as PlannedDag;
    const payload = { scripts: writer.write(dag, {}, undefined) };
    const push = index % 3 === 1 ? 'with-order' : 'alone';
    batches.push({ bizKey: `b${index}`, dag: dag.name, dueMs: 0, push, payload });
    count += dag.tasks.length;
  }
  return { dags, batches };
}

async function makeDatabase(dataDir: string): Promise<void> {
  await using database = new PgliteDatabase({ dataDir });
  await database.start();
}

/** How long it takes until the process that is left says that every batch has ended; as long as was waited when it does not. */
async function allEnded(ledgerPath: string, withinMs: number): Promise<number> {
  const from = performance.now();
  const isSaid = () => readLedger(ledgerPath).some(({ kind }: LedgerEntry) => kind === 'all-ended');
  await until(isSaid, { what: 'every batch to end', deadlineMs: withinMs, intervalMs: 20 }).catch(() => {});
  return performance.now() - from;
}

/** What the database holds when all is over, read by this process; and what of it cannot be read or does not fit together. */
async function lookInside(dataDir: string, plan: Plan, ledgerPath: string) {
  await using database = new PgliteDatabase({ dataDir });
  const all = async <R extends object>(sql: string) => (await database.query<R>(sql)).rows;
  const evidence = await readEvidence(plan, all, ledgerPath);
  const notes = await all<StoredNote>(WRITTEN);
  const tables = (await all<{ name: string }>(TABLES)).map(({ name }) => name);
  const damage: string[] = [];
  // Every row is read, and what must be unique is looked at anew.
  for (const table of tables)
    await database
      .query(`REINDEX TABLE ${table}`)
      .catch((error: unknown) => damage.push(`${table}: ${error}`));
  return { evidence, notes, tables, damage };
}

/** Everything that must hold of the batches, whatever was done. */
const checkAll = (evidence: Evidence): Verdict[] =>
  [
    checkNoLoss,
    checkOneRowEach,
    checkEnds,
    checkRecords,
    checkEndedOnce,
    checkRuns,
    checkNothingLeft,
    checkOrder,
  ].map((check) => check(evidence));

const checkConsistent = (damage: readonly string[], tables: readonly string[]): Verdict => ({
  invariant: 'I8 the database is whole',
  held: damage.length === 0 && tables.length > 0,
  evidence: damage.join('; ') || `${tables.length} tables read, their indexes made anew`,
});

/** Half a database is never taken for one, and is cleared away by the next process. */
const checkMaking = (
  half: { readonly unfinished: number; readonly isThere: boolean },
  left: { readonly unfinished: number },
): Verdict => ({
  invariant: 'killed in the making: made again',
  held: half.unfinished === 1 && !half.isThere && left.unfinished === 0,
  evidence: `${half.unfinished} half made${half.isThere ? ' and in place' : ''}, ${left.unfinished} of it left at the end`,
});

const checkDone = (doneInMs: number, { doneWithinMs }: PgliteScale): Verdict => ({
  invariant: 'I10 done after the last fault',
  held: doneInMs <= doneWithinMs,
  evidence: `${(doneInMs / 1000).toFixed(1)} s of ${doneWithinMs / 1000} s`,
});

const checkEnding = ({ isClean, tookMs }: Ending, isLocked: boolean): Verdict => ({
  invariant: 'I11 the process ends on SIGTERM',
  held: isClean && !isLocked && tookMs <= STOPS_WITHIN_MS,
  evidence: `${isClean ? 'drained' : 'did not drain'} in ${(tookMs / 1000).toFixed(1)} s of ${STOPS_WITHIN_MS / 1000} s, its lock ${isLocked ? 'left' : 'given free'}`,
});

registerScenario({
  name: 'pglite-killed',
  what: 'outbox on PGlite: the process killed -9 in the middle of writes 30 times and once while it makes the database; others try to open the directory meanwhile',
  run,
});
