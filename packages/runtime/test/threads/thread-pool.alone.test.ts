import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { leakCheck } from '@millrace/testkit/vitest';
import { describe, expect, it } from 'vitest';
import { ThreadPool } from '../../src/threads/thread-pool.js';
import { burn, workUrl } from './tasks.js';

leakCheck();

const run = promisify(execFile);

/** Runs a program on the built package in a process of its own and gives what it said. */
async function program(lines: string) {
  const built = (file: string) => new URL(`../../dist/threads/${file}`, import.meta.url).href;
  const code = `
    import { createRequire } from 'node:module';
    import { ThreadPool } from '${built('thread-pool.js')}';
    import { threadTask } from '${built('thread-task.js')}';
    const work = (name) => threadTask('${workUrl.href}', name);
    const say = (word) => console.log(word);
    const piscinaLoaded = () => Object.keys(createRequire('${built('')}').cache).some((path) => path.includes('piscina'));
    ${lines}
    say('last line');
    process.on('exit', () => say('exit'));`;
  const { stdout, stderr } = await run('node', ['--input-type=module', '-e', code], { timeout: 20_000 });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

describe('a process with a pool', () => {
  it('runtime RT-4: ends while a pool with idle threads is still open', async () => {
    const lines = `
      const pool = new ThreadPool({ maxWorkers: 2 });
      const sums = await Promise.all([pool.submit(work('add'), 1, 2), pool.submit(work('add'), 3, 4)]);
      say(sums.join());`;
    expect(await program(lines)).toEqual(['3,7', 'last line', 'exit']);
  });

  it('runtime RT-4: lives until a running thread task has ended, and ends after shutdown', async () => {
    const lines = `
      const pool = new ThreadPool();
      pool.submit(work('burn'), 50_000_000).then(() => say('burnt')).then(() => pool.shutdown()).then(() => say('shut'));`;
    expect(await program(lines)).toEqual(['last line', 'burnt', 'shut', 'exit']);
  });

  it('runtime RT-4: ends after a shutdown that terminated an endless loop', async () => {
    const lines = `
      const cells = new Int32Array(new SharedArrayBuffer(8));
      const pool = new ThreadPool();
      const future = pool.submit(work('loop'), cells.buffer);
      while (Atomics.load(cells, 0) === 0) await new Promise(setImmediate);
      await pool.shutdown({ wait: false });
      say(future.status);`;
    expect(await program(lines)).toEqual(['CANCELLED', 'last line', 'exit']);
  });

  it('runtime RT-4: loads no threads for functions', async () => {
    const lines = `
      const pool = new ThreadPool();
      say(await pool.submit(async () => 'function'));
      say(piscinaLoaded());
      await pool.submit(work('add'), 1, 2);
      say(piscinaLoaded());`;
    expect(await program(lines)).toEqual(['function', 'false', 'true', 'last line', 'exit']);
  });
});

describe('two cores', () => {
  it('runtime RT-4: two CPU-bound thread tasks take less than 1.5 times the time of one', async () => {
    await using pool = new ThreadPool({ maxWorkers: 2 });
    const rounds = 150_000_000;
    const timed = async (tasks: number) => {
      const startedAt = performance.now();
      await Promise.all(Array.from({ length: tasks }, () => pool.submit(burn, rounds)));
      return performance.now() - startedAt;
    };
    // Both threads started and their code compiled.
    await timed(2);
    const best = { one: Infinity, two: Infinity };
    for (let round = 0; round < 5; round++) {
      best.one = Math.min(best.one, await timed(1));
      best.two = Math.min(best.two, await timed(2));
    }
    console.log(`one ${best.one.toFixed(0)} ms, two ${best.two.toFixed(0)} ms`);
    expect(best.two / best.one).toBeLessThan(1.5);
  });
});
