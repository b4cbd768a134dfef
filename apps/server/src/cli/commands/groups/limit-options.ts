import type { RequestOf } from '@millrace/contract/server-client';
import { type Command, Option } from 'commander';
import { countFromOne, orNone, pointInTime, positiveNumber } from '../../ask/options.js';
import { amount } from '../../show/amounts.js';

/** Weight and limits of a group, as options give them. */
export interface LimitOptions {
  readonly weight?: number;
  readonly priority?: 'high' | 'normal' | 'low';
  readonly rps?: number | 'none';
  readonly burst?: number | 'none';
  readonly concurrency?: number | 'none';
  readonly timeoutMs?: number;
  readonly deadline?: string;
}

const PRIORITIES = ['high', 'normal', 'low'];

/**
 * Lets a command take weight and limits of a group.
 * @param isChange - of a group that is there: `none` takes a limit away.
 */
export function limitOptions(command: Command, isChange: boolean): Command {
  const limit = <T>(parse: (text: string) => T) => (isChange ? orNone(parse) : parse);
  const none = isChange ? '; none takes the limit away' : '';
  return command
    .option(
      '--weight <number>',
      'Its part against the other groups of its tenant (without one, against all others): twice the weight is twice the part.',
      positiveNumber,
    )
    .addOption(new Option('--priority <level>', 'Among the groups of its tenant.').choices(PRIORITIES))
    .option('--rps <number>', `Most starts per second${none}.`, limit(positiveNumber))
    .option('--burst <count>', `How many starts may come at once${none}.`, limit(countFromOne))
    .option('--concurrency <count>', `Most jobs at once${none}.`, limit(countFromOne))
    .option('--timeout-ms <ms>', 'How long it may make no progress before it fails.', countFromOne)
    .option(
      '--deadline <time>',
      `When it stops being wanted, such as 2030-01-31T12:00:00Z${none}.`,
      limit(pointInTime),
    );
}

/** What the options say, as a request has it: null takes a limit away. */
export function givenLimits(options: LimitOptions): RequestOf<'changeGroup'>['body'] {
  const { weight, priority: priorityLevel, rps, burst, concurrency, timeoutMs, deadline } = options;
  return {
    weight,
    priorityLevel,
    rps: nullFor(rps),
    burst: nullFor(burst),
    concurrency: nullFor(concurrency),
    timeoutMs,
    deadline: nullFor(deadline),
  };
}

/** Limits, as a server tells of them. */
interface Limits {
  readonly rps: number | null;
  readonly burst: number | null;
  readonly concurrency: number | null;
}

/** Limits in words; none for none. */
export const limitTexts = ({ rps, burst, concurrency }: Limits): readonly string[] => [
  ...(rps === null ? [] : [`${amount(rps)} per second`]),
  ...(burst === null ? [] : [`bursts of ${amount(burst)}`]),
  ...(concurrency === null ? [] : [`${amount(concurrency)} at once`]),
];

/** An option as a request has it: null takes a limit away. */
export const nullFor = <T>(value: T | 'none'): T | null => (value === 'none' ? null : value);
