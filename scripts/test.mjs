// Plain Node: this runs on a fresh clone with nothing installed.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root, run, tool } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureServers } from './ensure-servers.mjs';
import { failedTests } from './failed-tests.mjs';
import { makeMemoryFolder } from './memory-folder.mjs';

const RESULTS = join(root, '.results');
const totals = { passed: 0, failed: 0 };
/** Printed at the end. */
const failures = [];

/** Runs one step, prints its result and adds it to the totals. */
async function step(name, work) {
  const startedAt = performance.now();
  const { passed, failed, output = '' } = await work();
  totals.passed += passed;
  totals.failed += failed;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${failed === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)${output && `\n${output}`}`);
  return failed === 0;
}

/** A command that passes or fails as a whole. Its output is printed if it fails. */
const check = (command, args, options) => async () => {
  const { code, output } = await run(command, args, options);
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, output };
};

const script = (name) => check('node', [join(root, 'scripts', name)]);

/**
 * A Vitest run. Each of its tests counts, and so does a failure without a failing test (coverage, leaks). `live` prints its
 * output at once instead of at its end.
 */
const vitest =
  (name, args, env, live = true) =>
  async () => {
    const report = join(RESULTS, `${name}.json`);
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const { code, output } = await run(tool('vitest'), ['run', ...args, ...reporters], { live, env });
    let counts = { numPassedTests: 0, numFailedTests: 0, testResults: [] };
    try {
      counts = JSON.parse(readFileSync(report, 'utf8'));
    } catch {}
    const { numPassedTests: passed, numFailedTests: failed } = counts;
    failures.push(...failedTests(counts));
    return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, output };
  };

/**
 * Two runs side by side: each leaves the machine idle while it starts, waits for a server or adds up coverage. Tests that need a quiet machine
 * follow.
 */
async function tests(env) {
  const slow = async () => {
    await staticChecks();
    await step('slow tests', vitest('slow', ['--mode', 'slow'], env, false));
  };
  await Promise.all([step('tests and coverage', vitest('test', ['--coverage'], env)), slow()]);
  await step('serial tests', vitest('serial', ['--mode', 'serial'], env));
}

/** Each uses one core, and not all the time. */
const staticChecks = () =>
  Promise.all([
    step('types', script('check-types.mjs')),
    step('imports', script('check-imports.mjs')),
    step('public documentation', script('check-tsdoc.mjs')),
    step('requirements', script('check-requirements.mjs')),
    step('documents', script('check-documents.mjs')),
    step('unused code', check(tool('knip'), ['--no-progress'])),
  ]);

/** Starts the servers of this run. They end when their standard input closes, also if this process is killed. */
async function startServers() {
  const serve = join(root, 'packages/testkit/dist/serve.js');
  const child = spawn('node', [serve], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  const [line] = await Promise.race([
    createInterface({ input: child.stdout })
      [Symbol.asyncIterator]()
      .next()
      .then(({ value }) => [value]),
    ended.then(() => []),
  ]);
  if (!line) throw new Error('The servers of the tests did not start; their output is above');
  const stop = () => {
    child.stdin.end();
    return ended;
  };
  return { addresses: JSON.parse(line), stop };
}

async function main() {
  await Promise.all([ensurePackages(), ensureServers()]);
  rmSync(RESULTS, { recursive: true, force: true });
  mkdirSync(RESULTS, { recursive: true });

  const [isBuilt] = await Promise.all([
    step('build', script('build.mjs')),
    step('lint', check(tool('biome'), ['check', '--error-on-warnings', '.'])),
  ]);
  if (!isBuilt) return;
  const memory = makeMemoryFolder();
  if (memory) process.env.TMPDIR = memory.path;
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => {
      memory?.remove();
      process.exit(1);
    });
  const { addresses, stop } = await startServers();
  try {
    await tests(addresses);
  } finally {
    await stop();
    memory?.remove();
  }
}

try {
  await main();
} catch (error) {
  totals.failed++;
  console.error(error);
}
if (failures.length > 0) console.log(`\n${failures.join('\n')}\n`);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed === 0 ? 0 : 1;
