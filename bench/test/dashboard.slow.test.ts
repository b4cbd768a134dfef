import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../dist/run.js', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

interface Report {
  readonly gauges: readonly {
    readonly work: string;
    readonly readings: readonly {
      readonly name: string;
      readonly median: number;
      readonly most?: number;
      readonly everyRun?: boolean;
    }[];
  }[];
}

describe('npm run bench', () => {
  it('dashboard: a visitor of every measured view does everything there, and each bar is read', async () => {
    await run('node', ['--expose-gc', program, 'dashboard', '--smoke'], { cwd: root });
    const { gauges }: Report = JSON.parse(
      readFileSync(`${root}/.results/bench/smoke/dashboard.json`, 'utf8'),
    );
    expect(gauges.map(({ work }) => work)).toEqual(['visit /', 'visit /groups', 'visit /dead-letters']);
    for (const { work, readings } of gauges) {
      const [scripts, first, largest, ready] = readings;
      // Its size is the same on every machine.
      expect(scripts?.median, work).toBeGreaterThan(10);
      expect(scripts?.median, work).toBeLessThanOrEqual(200);
      expect(first, work).toMatchObject({ most: 1500, everyRun: true });
      expect(first?.median, work).toBeGreaterThan(0);
      expect(largest?.median, work).toBeGreaterThanOrEqual(first?.median ?? Number.NaN);
      expect(ready?.median, work).toBeGreaterThan(0);
      const painted = readings.filter(({ name }) => name.endsWith(': painted'));
      expect(painted.length, work).toBeGreaterThan(5);
      for (const { name, most, everyRun } of painted)
        expect({ most, everyRun }, name).toEqual({ most: 200, everyRun: true });
      // Something of it was slow enough to be seen: nothing at all would mean that nothing was watched.
      expect(Math.max(...painted.map(({ median }) => median)), work).toBeGreaterThan(0);
    }
  });
});
