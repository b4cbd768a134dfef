import { readFileSync } from 'node:fs';
import { declaredKeys } from '../bulk/check-keys.js';
import { KEY_PREFIX } from '../bulk/settings.js';
import { some, type Verdict } from '../registry.js';
import { ROW_TASKS } from './dag.js';
import { ENGINE, type RollingEvidence } from './evidence.js';
import { ADDED_KEY } from './release.js';

const verdict = (
  invariant: string,
  wrong: readonly string[],
  counted: number,
  evidence: string,
): Verdict => ({
  invariant,
  held: wrong.length === 0 && counted > 0,
  evidence: wrong.length > 0 ? some(wrong) : evidence,
});

/** I1: what was acknowledged has ended well, and was really done. */
export function checkRollingLoss({ handedIn, groups, batches, ledger }: RollingEvidence): Verdict {
  const done = new Set(ledger.filter(({ kind }) => kind === 'done').map(({ job }) => String(job)));
  const byId = new Map(groups.map((group) => [group.id, group]));
  const wrong: string[] = [];
  let jobs = 0;
  for (const { group, jobs: count, batch } of handedIn) {
    jobs += count;
    const ran = Array.from({ length: count }, (_, n) => done.has(`${group}#job-${n}`)).filter(Boolean).length;
    if (byId.get(group)?.status !== 'COMPLETED') wrong.push(`${group} is ${byId.get(group)?.status}`);
    if (ran !== count) wrong.push(`${group}: ${ran} of ${count} in the ledger`);
    if (batches.get(batch) !== 'DONE') wrong.push(`${batch} is ${batches.get(batch)}`);
  }
  const evidence = `${handedIn.length} groups of ${jobs} jobs and as many batches, each ended`;
  return verdict('I1 no loss', wrong, jobs, evidence);
}

/** I2: every job is counted once, and every task has one row, whichever release ran it. */
export function checkRollingOnce({ handedIn, groups, rows }: RollingEvidence): Verdict {
  const wrong: string[] = [];
  const byId = new Map(groups.map((group) => [group.id, group]));
  for (const { group, jobs } of handedIn) {
    const counts = byId.get(group)?.counts;
    if (counts?.success !== jobs || counts.registered !== jobs)
      wrong.push(`${group} counts ${JSON.stringify(counts)} of ${jobs}`);
  }
  for (const { batch, task, releases } of rows)
    if (releases.length !== 1) wrong.push(`${batch} ${task} has ${releases.length} rows`);
  if (rows.length !== handedIn.length * ROW_TASKS.length) wrong.push(`${rows.length} tasks`);
  return verdict('I2 counted exactly once', wrong, rows.length, `${rows.length} tasks, one row each`);
}

/**
 * What the new release adds to the engine's state, to the records of groups and to rows is still there, though the old one has written them in
 * between.
 */
export function checkAddedFields({ added, rows }: RollingEvidence): Verdict {
  const wrong = added
    .filter(({ counted, kept }) => counted !== kept)
    .map(({ record, counted, kept }) => `${record}: ${kept} of ${counted} left`);
  for (const { batch, task, releases, nextCount, nextNote } of rows) {
    const expected = releases.filter((release) => release === 'new').length;
    if (nextCount !== expected) wrong.push(`${batch} ${task}: ${nextCount}, not ${expected}`);
    if (expected > 0 && nextNote !== 'added') wrong.push(`${batch}: the note is ${nextNote}`);
  }
  const noted = rows.filter(({ nextCount }) => nextCount > 0).length;
  const groups = added.filter(({ record }) => record !== ENGINE);
  return verdict(
    'what the new release adds is kept',
    added.some(({ record }) => record === ENGINE) ? wrong : [...wrong, 'the new release has written nothing'],
    noted,
    `engine, ${groups.length} groups and ${noted} rows as the new release left them`,
  );
}

/** I8: no key that the document does not list, but the one that the new release adds. */
export function checkRollingKeys({ keys }: RollingEvidence): Verdict {
  const document = readFileSync(new URL('../../../docs/redis-keys.md', import.meta.url), 'utf8');
  const declared = declaredKeys(document);
  const isAdded = ({ key, type }: { key: string; type: string }) =>
    key === `${KEY_PREFIX}{0}:${ADDED_KEY.name}` && type === ADDED_KEY.type;
  const wrong = keys
    .filter((stored) => !isAdded(stored) && !declared.some((row) => row(stored)))
    .map(({ key, type }) => `${key} (${type})`);
  const evidence = `${keys.length} keys, all in docs/redis-keys.md or added`;
  return verdict('I8 only declared keys', wrong, keys.filter(isAdded).length, evidence);
}

/** Both releases have worked: on jobs of the same groups, and on tasks of the same tables. */
export function checkBothWorked({ ledger, rows }: RollingEvidence): Verdict {
  const groups = new Map<string, Set<string>>();
  for (const { kind, job, release } of ledger) {
    if (kind !== 'done') continue;
    const group = String(job).split('#')[0] ?? '';
    groups.set(group, (groups.get(group) ?? new Set()).add(String(release)));
  }
  const shared = [...groups.values()].filter(({ size }) => size === 2).length;
  const rowsOf = (name: string) => rows.filter(({ releases }) => releases.includes(name)).length;
  return {
    invariant: 'both releases work on the same data',
    held: shared > 0 && rowsOf('old') > 0 && rowsOf('new') > 0,
    evidence: `${shared} groups by both; ${rowsOf('old')} tasks by the old, ${rowsOf('new')} by the new`,
  };
}
