import { Command } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { wholeNumber } from '../ask/options.js';
import type { DemoWish } from '../demo/run-demo.js';
import type { End, Surroundings } from '../surroundings.js';

const SECONDS = 45;

interface Options {
  readonly seconds: number;
  readonly whaleJobs?: number;
  readonly tenants?: number;
  readonly stop?: boolean;
}

/** `millrace demo`: a workload to look at, on a server that runs or on one of its own. */
export function demoCommand(surroundings: Surroundings, end: End): Command {
  const demo = new Command('demo')
    .description('Show a workload: a whale, small tenants, a failing service, a DAG, a chat.')
    .option('--seconds <count>', 'How long it brings work, 10 to 600.', wholeNumber, SECONDS)
    .option('--whale-jobs <count>', 'Jobs of the whale, 100 to 20000 (5000 unless given).', wholeNumber)
    .option('--tenants <count>', 'Small tenants, 1 to 20 (6 unless given).', wholeNumber)
    .option('--stop', 'End the demo that runs, and everything of it, instead.')
    .addHelpText(
      'after',
      '\nWithout a server at the usual address it starts one of its own, which ends with it. Ctrl-C ends the demo.',
    );
  return asksServer<Options>(demo, surroundings, end, async (asking, options) => {
    if (options.stop) return stop(asking);
    const wish = await wishOf(asking, options);
    const { runDemo } = await import('../demo/run-demo.js');
    return runDemo(asking, wish);
  });
}

const FLAGS: Readonly<Record<string, string>> = {
  seconds: '--seconds',
  whaleJobs: '--whale-jobs',
  tenants: '--tenants',
};

/** Checked here as the server would: nobody starts one to hear that a number is too small. */
async function wishOf({ command }: Asking, { seconds, whaleJobs, tenants }: Options): Promise<DemoWish> {
  const { DemoRequest } = await import('@millrace/contract');
  const wish = DemoRequest.safeParse({ seconds, whaleJobs, tenants });
  if (wish.success) return wish.data;
  const [issue] = wish.error.issues;
  return command.error(`error: ${FLAGS[String(issue?.path[0])]} cannot be used: ${issue?.message}`);
}

async function stop(asking: Asking): Promise<undefined> {
  const stopped = await asking.client.call('stopDemo', {}, { signal: asking.signal });
  const { stoppedText } = await import('../demo/run-demo.js');
  asking.answer(stopped, (printer) => printer.line(stoppedText(stopped)));
  return undefined;
}
