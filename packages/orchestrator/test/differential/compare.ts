import { isDeepStrictEqual } from 'node:util';
import { type Rng, seededRng } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { OpId } from '../../src/op-id.js';
import type { OperationStore } from '../../src/ports.js';
import { type Command, type Deck, drawCommand } from './commands.js';

/** A store that is compared; its time is held. */
export interface Side {
  readonly store: OperationStore;
  setTime(now: number): Promise<void> | void;
}

/** Where the time of every sequence begins. */
export const TIME_BEGINS = Date.UTC(2026, 0, 1);
const COMMANDS = 60;
const SHOWN = 12;

const json = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part instanceof Set ? [...part] : part)) ?? 'undefined';

/** How far time moves; seldom back. */
const step = (rng: Rng): number => rng.pick([0, 1, 50, 100, 300, 1_000, 1_000, 5_000, -700]);

/**
 * Drives two empty stores with the same calls and compares every answer.
 * @returns what differed, for people; undefined when nothing did.
 */
export async function compareStores(
  seed: string,
  sides: readonly [Side, Side],
  count: (kind: string) => void,
): Promise<string | undefined> {
  const rng = seededRng(seed);
  const ids = new ManualClock({ now: TIME_BEGINS });
  const nextId = () => {
    ids.jump(1);
    return OpId.next(ids, rng);
  };
  const deck: Deck = { rng, nextId, accepted: [], sent: [], tokens: new Map() };
  const history: string[] = [];
  let now = TIME_BEGINS;
  const check = async ({ verb, args, run, kindOf }: Command): Promise<string | undefined> => {
    history.push(`${verb} ${json(args)}`);
    const [first, second] = await Promise.all(sides.map(({ store }) => run(store)));
    if (!isDeepStrictEqual(first, second))
      return [
        `Seed ${seed}: the stores differ at call ${history.length}, at time ${now - TIME_BEGINS}:`,
        ...history.slice(-SHOWN).map((line) => `  ${line}`),
        `  the first answers  ${json(first)}`,
        `  the second answers ${json(second)}`,
        `  replay: MILLRACE_DIFF_SEED=${seed} npx vitest run packages/orchestrator/test/differential/differential.slow.test.ts`,
      ].join('\n');
    count(`${verb}: ${kindOf(first as never)}`);
    return undefined;
  };
  for (let at = 0; at < COMMANDS; at++) {
    if (rng.chance(0.2)) {
      now += step(rng);
      history.push(`time ${now - TIME_BEGINS}`);
      for (const side of sides) await side.setTime(now);
    }
    const difference = await check(drawCommand(deck));
    if (difference) return difference;
  }
  const all: Command = {
    verb: 'all',
    args: undefined,
    run: (store) => store.views.list({}, 1_000, undefined),
    kindOf: () => 'done',
  };
  return check(all);
}
