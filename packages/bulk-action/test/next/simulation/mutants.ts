import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { simulate } from './simulate.js';
import type { Invariant } from './trace.js';

/** One changed line of the engine, and by what a run notices. */
export interface Mutant {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly breaks: readonly Invariant[];
}

const ENGINE = join(import.meta.dirname, '../../../src/next/engine');
const SEEDS = 60;

const mutant = (name: string, file: string, from: string, to: string, ...breaks: Invariant[]): Mutant => ({
  ...{ name, file, from, to, breaks },
});

/** Engines that are broken on purpose: a simulation that does not notice them proves nothing. */
export const MUTANTS: readonly Mutant[] = [
  mutant(
    'the largest start tag is first',
    'state/fair-order.ts',
    'startA === startB ? numberA < numberB : startA < startB',
    'startA === startB ? numberA < numberB : startA > startB',
    'I6',
  ),
  mutant(
    'a turn is not charged by weight',
    'fair/turn.ts',
    'groupStart, charge / groupWeight(group));',
    'groupStart, charge);',
    'I6',
    'I8',
  ),
  mutant(
    'a note loses the retries of a job',
    'format/changes.ts',
    'retryCount: COUNT,',
    'retryCount: { write: (out) => COUNT.write(out, 0), read: COUNT.read },',
    'I8',
    'I3',
  ),
  mutant(
    'a start does not spend tokens',
    'changes/apply-jobs.ts',
    'rate.tatUs = tatAfterStart(rate, atUs, cost);',
    '',
    'I7',
  ),
  mutant(
    'ready jobs set no tokens aside',
    'state/scope.ts',
    'nextSlotUs(this.rate, nowUs, cost, this.readyCost)',
    'nextSlotUs(this.rate, nowUs, cost)',
    'I7',
  ),
  mutant(
    'the cap of groups and tenants is one too high',
    'state/scope.ts',
    'this.held < this.concurrency',
    'this.held <= this.concurrency',
    'I5',
  ),
  mutant(
    'the rate of everything is forgotten',
    'fair/gate.ts',
    'state.shard.slotUs(state.nowUs, cost)',
    '0',
    'I7',
  ),
  mutant(
    'the attempt of a settlement is not checked',
    'run/settle.ts',
    'if (!group || !job || job.attempt !== attempt ||',
    'if (!group || !job ||',
    'I4',
    'I2',
  ),
  mutant(
    'the instance of a settlement is not checked',
    'run/settle.ts',
    ' || job.instanceId !== instanceId) {\n    freeLate',
    ') {\n    freeLate',
    'I4',
    'I2',
  ),
  mutant(
    'a returned attempt keeps its number',
    'run/settle.ts',
    'attempt: job.attempt - 1',
    'attempt: job.attempt',
    'I2',
  ),
  mutant(
    'a first orphan is not counted',
    'run/instances.ts',
    'requeueJob(state, job, { attempt: job.attempt, orphans: 1 });\n    return;',
    'requeueJob(state, job, { attempt: job.attempt, orphans: 0 });\n    return;',
    'I3',
  ),
  mutant(
    'orphans of a dead instance are skipped',
    'run/instances.ts',
    'orphanJob(state, job, random);',
    ';',
    'I10',
    'I8',
  ),
  mutant(
    'a due job stays where it waits',
    'run/wait.ts',
    'if (!state.isDispatching) return;',
    'if (state.nowUs > 0) return;',
    'I10',
  ),
  mutant(
    'a delayed job comes back too early',
    'run/wait.ts',
    'job && job.dueMs <= state.nowMs;',
    'job && job.dueMs <= state.nowMs + 500;',
    'I4',
  ),
  mutant(
    'notes that are still needed are cut',
    'engine.ts',
    'state.dirty.first?.dirtySeq ?? state.seq + 1',
    '(state.dirty.first?.dirtySeq ?? state.seq) + 1',
    'I8',
    'I10',
  ),
  mutant(
    'a record claims a commit that it lacks',
    'engine.ts',
    'packRecord(this.#writer, state, record, state.seq)',
    'packRecord(this.#writer, state, record, state.seq + 1)',
    'I8',
    'I10',
  ),
  mutant(
    'a record that includes a commit applies it again',
    'changes/apply-change.ts',
    'record.recordSeq >= seq',
    'record.recordSeq > seq',
    'I8',
    'I10',
    'I2',
    'I14',
  ),
  mutant(
    'a chunk is dropped before its last job has ended',
    'run/end.ts',
    'outcomes.ended >= chunk.jobs',
    'outcomes.ended >= chunk.jobs - 1',
    'I1',
  ),
  mutant('drops of a dead owner are forgotten', 'restore.ts', 'head.seq === seq', 'head.seq < 0', 'I9'),
  mutant(
    'a paused group stays in the order',
    'fair/order.ts',
    'if (group.isPaused || group.parkedAt',
    'if (group.parkedAt',
    'I5',
  ),
  mutant(
    'jobs of a cut round are still due',
    'run/end.ts',
    'for (const job of group.delayed.values()) state.delayed.remove(job);',
    '',
    'I4',
    'I9',
  ),
  mutant(
    'an ordered group runs jobs together',
    'fair/order.ts',
    'group.held + group.delayed.size > 0',
    'group.held < 0',
    'I5',
  ),
  mutant(
    'a retry does not hold an ordered group',
    'fair/order.ts',
    'group.held + group.delayed.size > 0',
    'group.held > 0',
    'I5',
  ),
  mutant(
    'a low priority goes first',
    'fair/head.ts',
    'for (let priority = group.queues.length - 1; priority >= 0; priority--)',
    'for (let priority = 0; priority < group.queues.length; priority++)',
    'I5',
  ),
  mutant(
    'a job that ends while it waits passes ready ones',
    'changes/apply-jobs.ts',
    '  group.skipped.add(position);\n  if (position === queue.next) passTo(group, queue, position + 1);\n  return undefined;',
    '  passTo(group, queue, position + 1);\n  return undefined;',
    'I8',
    'I10',
    'I1',
  ),
  mutant(
    'a failure counts as a success',
    'changes/apply-jobs.ts',
    'group.failed += 1;',
    'group.success += 1;',
    'I14',
  ),
  mutant(
    'a group completes without its seal',
    'run/end.ts',
    'else if (group.isSealed) completeRound',
    'else completeRound',
    'I8',
  ),
  mutant(
    'a freed slot is not counted',
    'run/settle.ts',
    'if (instance?.jobs.delete(job)) instance.free += 1;',
    'instance?.jobs.delete(job);',
    'I8',
    'IDLE',
    'I10',
  ),
];

/** Returns the first seed that notices a mutant by what it breaks. */
export async function firstToNotice(mutant: Mutant): Promise<number | undefined> {
  const run = await simulationOf(mutant);
  for (let seed = 1; seed <= SEEDS; seed++) {
    const [violation] = run(seed, { isThorough: true }).violations;
    if (violation && mutant.breaks.includes(violation.invariant)) return seed;
  }
  return undefined;
}

/** Bundles the simulation with the changed engine. */
async function simulationOf({ file, from, to }: Mutant): Promise<typeof simulate> {
  const path = join(ENGINE, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(from).length !== 2) throw new Error(`'${from}' must stand in ${file} once`);
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'simulate.ts')],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    conditions: ['@millrace/source'],
    plugins: [
      {
        name: 'mutant',
        setup: ({ onLoad }) =>
          onLoad({ filter: /next\/engine\/.*\.ts$/ }, (args) =>
            args.path === path ? { contents: source.replace(from, () => to), loader: 'ts' } : undefined,
          ),
      },
    ],
  });
  const module = { exports: {} as { simulate: typeof simulate } };
  const load = new Function('module', 'exports', 'require', outputFiles[0]?.text ?? '');
  load(module, module.exports, createRequire(import.meta.url));
  return module.exports.simulate;
}
