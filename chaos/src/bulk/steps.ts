import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rng } from '@millrace/foundation';
import type { Ledger } from '@millrace/testkit/ledger';

/** What a worker process does: its calls of the store in the order of a job's life, and its own work between them. */
export const DEEDS = [
  'heartbeat',
  'fetch',
  'reserve',
  'effect',
  'renew',
  'settle success',
  'settle retry',
  'settle failure',
  'dispatch',
  'recover',
  'give back',
  'leave',
  'look',
  'reconcile',
  'sweep',
  'claim aggregation',
  'page of results',
  'reduce',
  'renew aggregation',
  'finish aggregation',
  'fail aggregation',
] as const;

type WorkerDeed = (typeof DEEDS)[number];

/** A moment at which a process is killed. */
export type Step = `before ${WorkerDeed}` | `after ${WorkerDeed}`;

/** All of them. */
export const STEPS: readonly Step[] = DEEDS.flatMap((deed) => [
  `before ${deed}` as const,
  `after ${deed}` as const,
]);

/** Told of each step before it is made, or after. */
export type AtStep = (step: Step) => void;

/** A death that is planned: of the first process that comes to the step so often. */
export interface PlannedDeath {
  readonly step: Step;
  readonly nth: number;
}

/** What a process knows of the deaths that are planned. */
export interface DeathsBrief {
  /** In the order they are due. */
  readonly deaths: readonly PlannedDeath[];
  /** The folder where deaths are remembered. */
  readonly marks: string;
}

/** So many deaths are due at a time: were it all of them, no process would live to see a job. */
const DUE_AT_ONCE = 3;
/** Some things happen all the time: not only the first of them is a moment to die at. */
const NTH_MAX = 3;
const SELDOM: ReadonlySet<string> = new Set<WorkerDeed>([
  'heartbeat',
  'settle failure',
  'give back',
  'leave',
  'sweep',
  'fail aggregation',
]);
/** The mark after which no process kills itself any more. */
const FAULTS_OVER = 'faults-over';

/**
 * Draws at which steps processes die, and when.
 * @param count - how many steps; all when there are not so many.
 */
export function drawDeaths(rng: Rng, count: number): PlannedDeath[] {
  return rng
    .shuffle(STEPS)
    .slice(0, count)
    .map((step) => ({ step, nth: SELDOM.has(deedOf(step)) ? 1 : rng.integer(1, NTH_MAX) }));
}

/** What is done at a step. */
export const deedOf = (step: Step): string => step.replace(/^(before|after) /, '');

/** The deaths that nobody has died yet. */
export function undied({ deaths, marks }: DeathsBrief): readonly PlannedDeath[] {
  const died = new Set(readdirSync(marks));
  return died.has(FAULTS_OVER) ? [] : deaths.filter(({ step }) => !died.has(encodeURIComponent(step)));
}

/** Those of them that are due now. */
export const dueDeaths = (brief: DeathsBrief): readonly PlannedDeath[] => undied(brief).slice(0, DUE_AT_ONCE);

/** From now on nobody dies by plan. */
export const endFaults = ({ marks }: DeathsBrief): void => writeFileSync(join(marks, FAULTS_OVER), '');

/** Kills its own process at planned steps; each planned death happens in one process only. */
export class Killer {
  readonly #brief: DeathsBrief;
  readonly #ledger: Ledger;
  readonly #kill: () => void;
  readonly #times = new Map<Step, number>();

  /** @param kill - ends this process without a word. */
  constructor(brief: DeathsBrief, ledger: Ledger, kill = () => void process.kill(process.pid, 'SIGKILL')) {
    this.#brief = brief;
    this.#ledger = ledger;
    this.#kill = kill;
  }

  /** The process has come to a step: it may be its last. */
  readonly at: AtStep = (step) => {
    if (!this.#brief.deaths.some((death) => death.step === step)) return;
    const due = dueDeaths(this.#brief).find((death) => death.step === step);
    if (!due) return;
    const times = (this.#times.get(step) ?? 0) + 1;
    this.#times.set(step, times);
    if (times < due.nth || !this.#isFirst(due)) return;
    this.#ledger.append({ kind: 'kills', step });
    this.#kill();
  };

  /** Whether nobody has died this death before. */
  #isFirst({ step }: PlannedDeath): boolean {
    try {
      writeFileSync(join(this.#brief.marks, encodeURIComponent(step)), '', { flag: 'wx' });
      return true;
    } catch {
      return false;
    }
  }
}
