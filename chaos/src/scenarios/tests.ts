/**
 * Faults that a test of `npm test` already brings about on real processes: here the same test is played on its own, and each of
 * its parts becomes a verdict. Nothing is written a second time.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';
import { type About, type TestReport, verdictsOf } from '../test-verdicts.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
const OUTPUT_MAX = 600;

interface TestScenario {
  readonly what: string;
  /** Test file → what its tests are about. An invariant is named only where the test demands all that it says. */
  readonly files: Readonly<Record<string, About>>;
}

const SCENARIOS: Readonly<Record<string, TestScenario>> = {
  stopping: {
    what: 'SIGTERM to servers and services: idle, busy, with streams open, twice, with Redis and PostgreSQL frozen or gone',
    files: {
      'apps/server/test/process/stopping.serial.test.ts': {
        'ends at once when nothing runs': 'I11',
        'refuses new requests, ends streams': 'I11',
        'ends in time with Redis and PostgreSQL frozen under its work': 'I11',
        'ends in time with Redis and PostgreSQL gone': 'I11',
        'has shown no secret': '',
      },
      'packages/bulk-action/test/nestjs/shutdown.serial.test.ts': {
        'idle: exits 0 at once': 'I11',
        'unfinished jobs of all modules go back with their retry counts': 'I11',
        'exits 0 in time, and no job is lost': 'I1, I11',
      },
      'packages/outbox/test/failure/outage.serial.test.ts': {
        'ends within the grace period': 'I11',
        'idle, and the server down': 'I11',
      },
      'packages/orchestrator/test/failure/processes.serial.test.ts': { 'SIGTERM during waits': 'I11' },
    },
  },
  'thread-crash': {
    what: 'threads that exit, throw where nobody catches or run out of memory, in the middle of their task',
    files: {
      'packages/runtime/test/threads/thread-task.test.ts': {
        'fails only its own task and is replaced': 'I1',
        'that cannot even start fails its task': 'I1',
        'never makes its task run twice': 'I3',
        'harms no later task': '',
      },
    },
  },
  'stream-readers': {
    what: 'readers of streams that are slow, that stop reading, and that go away',
    files: {
      'apps/server/test/failure/stalled-streams.alone.test.ts': { '20 of which do not read': 'I9' },
      'apps/server/test/security/patience.test.ts': {
        'a client that goes away is forgotten': '',
        'one key cannot take the streams of all': 'I15',
      },
      'packages/runtime/test/lanes/streams.test.ts': {
        'a slow attached reader slows the producer and loses nothing': 'I1',
        'a reader stalled past streamStallMs': '',
        'return() and a signal let go at once': '',
      },
    },
  },
  'server-backends-down': {
    what: 'a server whose Redis or PostgreSQL is frozen or down: the rest works, and it comes back without a restart',
    files: {
      'apps/server/test/failure/backends.serial.test.ts': {
        'bulk answers 503 with Retry-After': '',
        'commands are answered within their budget': '',
      },
    },
  },
  'orchestrator-store-down': {
    what: 'the front door while PostgreSQL is frozen or down: answers within the budget and 100 ms, stops in time',
    files: {
      'packages/orchestrator/test/failure/store-down.serial.test.ts': {
        'every call is answered within its budget and 100 ms': 'I13',
        'frozen for good: stop ends within the grace period': 'I11',
      },
    },
  },
  'orchestrator-one-key': {
    what: 'the front door: 100 submits at once with one key from 4 processes',
    files: {
      'packages/orchestrator/test/failure/processes.serial.test.ts': { '100 submits of one key': 'I2' },
    },
  },
};

async function run({ files }: TestScenario, { folder }: ScenarioContext): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [file, about] of Object.entries(files))
    verdicts.push(...(await runTests(file, about, join(folder, basename(file)))));
  return verdicts;
}

/** Runs the tests that the table names, and no other of the file. */
async function runTests(file: string, about: About, into: string): Promise<Verdict[]> {
  const report = `${into}.json`;
  const names = Object.keys(about).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const output = openSync(`${into}.txt`, 'a');
  const args = [file, '-t', names.join('|'), '--reporter=json', `--outputFile=${report}`];
  const child = spawn(process.execPath, [VITEST, 'run', ...args], {
    cwd: ROOT,
    stdio: ['ignore', output, output],
  });
  const [code] = await once(child, 'close');
  closeSync(output);
  const said = () => readFileSync(`${into}.txt`, 'utf8').trim().slice(-OUTPUT_MAX);
  const fails = (): Verdict => ({
    invariant: `${file} runs`,
    held: false,
    evidence: said() || `code ${code}`,
  });
  if (!existsSync(report)) return [fails()];
  const verdicts = verdictsOf(file, JSON.parse(readFileSync(report, 'utf8')) as TestReport, about);
  // What nobody caught, and servers that did not start, belong to no test.
  return code === 0 || verdicts.some(({ held }) => !held) ? verdicts : [...verdicts, fails()];
}

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  registerScenario({
    name,
    what: scenario.what,
    isTest: true,
    run: (context) => run(scenario, context),
  });
}
