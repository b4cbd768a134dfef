import { seededRng } from '@millrace/foundation';
import type { BulkActionConfig } from '../../src/options.js';
import type { BulkShard } from '../../src/shard-port.js';
import type { Tally } from '../simulation/chaos.js';
import type { StoreHarness } from '../store-contract/tools.js';
import type { Command, LookCommand } from './commands.js';
import { type Difference, differenceOf } from './equality.js';
import { Labels } from './labels.js';
import { Script } from './script.js';
import { Side } from './side.js';
import { drawWorld, PLAIN_FROM, SIGNATURES, type World } from './world.js';

/** Makes an empty store. */
type OpenShard = (config?: BulkActionConfig) => Promise<StoreHarness<BulkShard>>;

/** The two stores: the first is the one that the commands are drawn for. */
export interface Pair {
  readonly first: OpenShard;
  readonly second: OpenShard;
}

/** Commands of one sequence. */
const SEQUENCE_LENGTH = 220;
/** After so many commands everything is looked at, not only what commands ask for. */
const LOOK_EVERY = 55;

/** Two answers that should have been one. */
export interface Finding {
  readonly seed: number;
  readonly world: World;
  /** All commands up to the one whose answers differ. */
  readonly commands: readonly Command[];
  /** What was asked last: that command, or a look that nobody had asked for. */
  readonly asked: Command;
  readonly answers: readonly [first: unknown, second: unknown];
  readonly difference: Difference;
}

/** What one sequence came to. */
export interface Compared {
  readonly commands: readonly Command[];
  readonly finding?: Finding;
}

/**
 * Draws the sequence of a seed and gives it to both stores.
 * @returns the commands, and the first difference if there is one.
 */
export async function compareSeed(
  pair: Pair,
  seed: number,
  { tally, length = SEQUENCE_LENGTH }: { readonly tally?: Tally; readonly length?: number } = {},
): Promise<Compared> {
  const { world, script } = drawSequence(seed);
  const labels = new Labels();
  return withBoth(pair, world, async (duel) => {
    const commands: Command[] = [];
    for (let at = 1; at <= length; at++) {
      const command = script.next();
      commands.push(command);
      const answer = await duel.ask(command);
      if (!answer.difference && (at % LOOK_EVERY === 0 || at === length)) await duel.lookAround('some');
      if (duel.last.difference) return { commands, finding: findingOf(seed, world, commands, duel.last) };
      script.memories.hear(command, answer.answers[0]);
      for (const label of labels.of(command, answer.answers[0])) tally?.count(label);
    }
    return { commands };
  });
}

/**
 * Gives the sequence of a seed to one store alone.
 * @returns what it meets there, and so in every comparison that has this store as the first.
 */
export async function labelsOfSeed(open: OpenShard, seed: number): Promise<ReadonlySet<string>> {
  const { world, script } = drawSequence(seed);
  const labels = new Labels();
  const met = new Set<string>();
  const harness = await open(world.config);
  try {
    const side = new Side(harness);
    await side.begin();
    for (let at = 1; at <= SEQUENCE_LENGTH; at++) {
      const command = script.next();
      const answer = await answerOf(side, command);
      script.memories.hear(command, answer);
      for (const label of labels.of(command, answer)) met.add(label);
    }
  } finally {
    await harness.close();
  }
  return met;
}

function drawSequence(seed: number): { readonly world: World; readonly script: Script } {
  const rng = seededRng(seed);
  const world = drawWorld(rng.fork('world'), seed >= PLAIN_FROM);
  return { world, script: new Script(rng.fork('script'), world) };
}

/**
 * Gives a list of commands to both stores, and looks at everything in between.
 * @param isLook - after which commands; after each unless given.
 * @returns the first difference.
 */
export const replay = (
  pair: Pair,
  { seed, world }: Pick<Finding, 'seed' | 'world'>,
  commands: readonly Command[],
  isLook: (command: Command) => boolean = () => true,
): Promise<Finding | undefined> =>
  withBoth(pair, world, async (duel) => {
    for (const [at, command] of commands.entries()) {
      await duel.ask(command);
      if (!duel.last.difference && isLook(command)) await duel.lookAround('all');
      if (duel.last.difference) return findingOf(seed, world, commands.slice(0, at + 1), duel.last);
    }
    return undefined;
  });

interface Exchange {
  readonly asked: Command;
  readonly answers: readonly [unknown, unknown];
  readonly difference?: Difference | undefined;
}

const findingOf = (
  seed: number,
  world: World,
  commands: readonly Command[],
  { asked, answers, difference }: Exchange,
): Finding => ({ seed, world, commands, asked, answers, difference: difference as Difference });

/** Both stores side by side. */
class Duel {
  last: Exchange = { asked: { kind: 'queues' }, answers: [undefined, undefined] };

  constructor(
    readonly first: Side,
    readonly second: Side,
    readonly world: World,
  ) {}

  /** Asks both the same. */
  async ask(asked: Command): Promise<Exchange> {
    const answers = await Promise.all([answerOf(this.first, asked), answerOf(this.second, asked)]);
    const difference = differenceOf(...answers);
    this.last = { asked, answers, ...(difference && { difference }) };
    return this.last;
  }

  /** Looks at all that can be seen, and keeps the first difference. */
  async lookAround(explained: 'some' | 'all'): Promise<void> {
    const looks = looksAt(this.world, explained);
    const answers = await Promise.all(
      looks.map((look) => Promise.all([answerOf(this.first, look), answerOf(this.second, look)])),
    );
    for (const [at, pair] of answers.entries()) {
      const difference = differenceOf(...pair);
      if (difference) {
        this.last = { asked: looks[at] as Command, answers: pair, difference };
        return;
      }
    }
  }
}

/** A throw is an answer too: the other store has to throw the same. */
async function answerOf(side: Side, command: Command): Promise<unknown> {
  try {
    return await side.perform(command);
  } catch (error) {
    return { thrown: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function looksAt({ keys, tenantIds, jobIds }: World, explained: 'some' | 'all'): LookCommand[] {
  const limit = 100;
  const explain = (key: string, at: number): LookCommand[] =>
    jobIds
      .filter((_, n) => explained === 'all' || n === at % jobIds.length)
      .map((jobId) => ({ kind: 'explain', key, jobId }));
  return [
    { kind: 'queues' },
    { kind: 'resources' },
    ...keys.map((key): LookCommand => ({ kind: 'slowness', key })),
    { kind: 'groups', filter: {}, limit },
    ...keys.map((key): LookCommand => ({ kind: 'jobs', key, limit })),
    ...keys.map((key): LookCommand => ({ kind: 'result', key })),
    ...keys.flatMap(explain),
    ...tenantIds.map((tenantId): LookCommand => ({ kind: 'tenant', tenantId })),
    { kind: 'fairness', limit },
    { kind: 'dead letters', filter: {}, limit },
    { kind: 'dead letters', filter: { signature: SIGNATURES[0] }, limit },
    { kind: 'signatures', filter: {}, limit },
  ];
}

async function withBoth<T>(pair: Pair, world: World, run: (duel: Duel) => Promise<T>): Promise<T> {
  const harnesses = await Promise.all([pair.first(world.config), pair.second(world.config)]);
  try {
    await setToOneTime(harnesses);
    const [first, second] = harnesses.map((harness) => new Side(harness)) as [Side, Side];
    await Promise.all([first.begin(), second.begin()]);
    return await run(new Duel(first, second, world));
  } finally {
    await Promise.all(harnesses.map((harness) => harness.close()));
  }
}

/** Answers name times: both clocks have to start at the same one. */
async function setToOneTime([first, second]: readonly [StoreHarness, StoreHarness]): Promise<void> {
  const [one, two] = await Promise.all([first.now(), second.now()]);
  if (one < two) await first.advance(two - one);
  if (two < one) await second.advance(one - two);
}
