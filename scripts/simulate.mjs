import { parseArgs } from 'node:util';
import { run, tool } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';

const USAGE = `Simulates the new bulk engine with faults, decided by a seed.
  npm run simulate -- --seed 123 [--verbose]     one seed again, with every step
  npm run simulate -- [--from 1] [--seeds 20000]  many seeds`;

const SIMULATION = 'packages/bulk-action/test/next/simulation';

const SEEDS = '20000';

const whole = { type: 'string' };
const { values } = parseArgs({
  options: {
    seed: whole,
    from: whole,
    seeds: whole,
    verbose: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
const wrong = ['seed', 'from', 'seeds'].find((name) => values[name] && !/^\d+$/.test(values[name]));
if (wrong) console.error(`--${wrong} must be a whole number, got '${values[wrong]}'`);
if (wrong || values.help) {
  console.log(USAGE);
  process.exit(wrong ? 1 : 0);
}
await ensurePackages();
const env = {
  ...(values.seed && { MILLRACE_SIM_SEED: values.seed }),
  ...(values.from && { MILLRACE_SIM_FROM: values.from }),
  MILLRACE_SIM_SEEDS: values.seeds ?? SEEDS,
  ...(values.verbose && { MILLRACE_SIM_VERBOSE: '1' }),
};
const args = ['run', SIMULATION, '--mode', 'slow', '--disable-console-intercept'];
process.exitCode = (await run(tool('vitest'), args, { live: true, env })).code;
