import { Command, InvalidArgumentError } from 'commander';
import { asksServer } from '../ask/asking.js';
import { wholeNumber } from '../ask/options.js';
import type { BenchSize } from '../bench/bench-model.js';
import type { End, Surroundings } from '../surroundings.js';

/** More takes longer and says no more. */
const JOBS_MAX = 1_000_000;
const OPERATIONS_MAX = 100_000;
const CLIENTS_MAX = 200;

const JOBS = 10_000;
const OPERATIONS = 500;
const CLIENTS = 8;

/** `millrace bench`: a quick look at how fast a server is. */
export function benchCommand(surroundings: Surroundings, end: End): Command {
  const bench = new Command('bench')
    .description('Measure quickly how many jobs and operations a server takes.')
    .option('--jobs <count>', `Jobs that do nothing, ${JOBS_MAX} at most.`, within(0, JOBS_MAX), JOBS)
    .option(
      '--operations <count>',
      `Operations that do nothing, ${OPERATIONS_MAX} at most.`,
      within(0, OPERATIONS_MAX),
      OPERATIONS,
    )
    .option('--clients <count>', `Requests at once, ${CLIENTS_MAX} at most.`, within(1, CLIENTS_MAX), CLIENTS)
    .addHelpText(
      'after',
      '\nWithout a server at the usual address it measures one of its own, which ends with it.',
    );
  return asksServer<BenchSize>(bench, surroundings, end, async (asking, { jobs, operations, clients }) => {
    const { runBench } = await import('../bench/run-bench.js');
    return runBench(asking, { jobs, operations, clients });
  });
}

const within =
  (least: number, most: number) =>
  (text: string): number => {
    const value = wholeNumber(text);
    if (value < least || value > most) throw new InvalidArgumentError(`It must be from ${least} to ${most}.`);
    return value;
  };
