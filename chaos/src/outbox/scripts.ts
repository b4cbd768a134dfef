import type { Rng } from '@millrace/foundation';
import { type PlannedDag, type PlannedTask, ROOT } from './shapes.js';

/**
 * What a task does when it is run. `fails-first`: its first try, after its effect. `fails-at-once` and `fails-always`: for good, after
 * its effect, by an error that says so or by as many tries as there are. `exits-within`: ends its process once, between its effect
 * and its end. `exits-after`: ends its process once, when it has returned and is being recorded.
 */
export type Deed =
  | 'works'
  | 'fails-first'
  | 'fails-at-once'
  | 'fails-always'
  | 'exits-within'
  | 'exits-after';

/** What one task of one batch does. */
export interface TaskScript {
  readonly does: Deed;
  readonly ms: number;
  /** Whether its row is inserted before the work or after. */
  readonly writes: 'first' | 'last';
  /** Whether it goes on when it is told to stop. */
  readonly heedless: boolean;
  /** Whether what makes it fail for good is gone once its batch has been mended. */
  readonly curable?: boolean;
  /** Its condition is false. */
  readonly unwanted?: boolean;
  /** The accounts that it changes besides writing its row, in this order; others change them in another. */
  readonly accounts?: readonly string[];
}

/** The payload of a batch, and of a task that was added to one. */
export interface BatchPayload {
  readonly scripts: Readonly<Record<string, TaskScript>>;
}

/** What becomes of a batch besides being run: which of its tasks fail for good, and what is done about it. */
export interface Story {
  /** One of its tasks fails for good under the policy `fail`. */
  readonly fails?: boolean;
  /** It is aborted so long after it was acknowledged, if it has not ended by then. */
  readonly abortAfterMs?: number;
  /**
   * When it has failed or was aborted, whatever made tasks fail is repaired, and it is retried until it is done: `all` as a whole,
   * `failing` by the tasks that failed it, which are the only ones that are repaired.
   */
  readonly mends?: 'all' | 'failing';
}

/** Tries of a task, the first included. */
export const TRIES = 3;

const FAILS_FIRST_SHARE = 0.04;
/** Of the tasks whose failure does not fail the batch, and of those under a condition. */
const FAILS_SHARE = 0.35;
const UNWANTED_SHARE = 0.4;

/** Draws what the tasks of batches do; the first chance for a rare deed is always taken, so that the shortest run has each. */
export class ScriptWriter {
  readonly #rng: Rng;
  readonly #ms: readonly [number, number];
  readonly #taken = new Set<string>();
  #failures = 0;

  /** @param ms - shortest and longest task. */
  constructor(rng: Rng, ms: readonly [number, number]) {
    this.#rng = rng;
    this.#ms = ms;
  }

  /**
   * Draws the scripts of one batch.
   * @param exits - how its first task ends its process, if it does.
   */
  write(dag: PlannedDag, story: Story, exits: Deed | undefined): Record<string, TaskScript> {
    const failing = story.fails ? this.#failing(dag) : undefined;
    const scripts = new Map<string, TaskScript>();
    for (const task of dag.tasks) {
      const { key, onFailure = 'fail' } = task;
      const script = this.#plain();
      const fails = key === failing || (onFailure !== 'fail' && this.#takes(onFailure, FAILS_SHARE));
      const curable = story.mends === 'all' || (story.mends === 'failing' && onFailure === 'fail');
      const isUnwanted = !fails && this.#isUnwanted(task, scripts);
      if (fails) scripts.set(key, { ...script, does: this.#failure(), curable });
      else if (key === ROOT && exits) scripts.set(key, exiting(script, exits));
      else scripts.set(key, isUnwanted ? { ...script, unwanted: true } : script);
    }
    return Object.fromEntries(scripts);
  }

  #plain(): TaskScript {
    return {
      does: this.#rng.chance(FAILS_FIRST_SHARE) ? 'fails-first' : 'works',
      ms: this.#rng.integer(...this.#ms),
      writes: this.#rng.chance(0.5) ? 'first' : 'last',
      heedless: this.#rng.chance(0.5),
    };
  }

  /** The task that fails its batch: one that others wait for, where there is one; the first one where no other would. */
  #failing({ tasks }: PlannedDag): string {
    const able = tasks.filter(({ key, onFailure = 'fail' }) => key !== ROOT && onFailure === 'fail');
    const waitedFor = able.filter(({ key }) => tasks.some(({ after }) => after.includes(key)));
    const choice = waitedFor.length > 0 ? waitedFor : able;
    return choice.length > 0 ? this.#rng.pick(choice).key : ROOT;
  }

  /** Both ways to fail by turns. */
  #failure(): Deed {
    this.#failures += 1;
    return this.#failures % 2 === 1 ? 'fails-at-once' : 'fails-always';
  }

  /** Who says that it is not wanted must be able to say so, whatever happens: a task before it that works. */
  #isUnwanted({ conditional, after }: PlannedTask, scripts: ReadonlyMap<string, TaskScript>): boolean {
    if (!conditional) return false;
    const works = after.some((key) => !isFailing(scripts.get(key)));
    return works && this.#takes('unwanted', UNWANTED_SHARE);
  }

  #takes(what: string, share: number): boolean {
    const isFirst = !this.#taken.has(what);
    this.#taken.add(what);
    return this.#rng.chance(share) || isFirst;
  }
}

/** In a fraction of its time: one that is struck by other faults over and over never gets there. */
const exiting = (script: TaskScript, does: Deed): TaskScript => ({
  ...script,
  does,
  ms: Math.ceil(script.ms / 4),
  writes: 'first',
});

/** Whether a task fails for good. */
export const isFailing = (script: TaskScript | undefined): boolean =>
  script?.does === 'fails-at-once' || script?.does === 'fails-always';
