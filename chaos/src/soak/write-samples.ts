import { mkdirSync, writeFileSync } from 'node:fs';
import { linesOf } from './check-samples.js';
import { type Point, ratesOf } from './flatness.js';
import { drawPlot } from './plot.js';
import type { Sample } from './samples.js';

const FOLDER = '.results/chaos/soak';
const MB = 1024 * 1024;

/**
 * Leaves what was seen as numbers and as a picture.
 * @returns where they are.
 */
export function writeSamples(samples: readonly Sample[], title: string): string {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/samples.json`, `${JSON.stringify(samples)}\n`);
  const of = (pick: (sample: Sample) => number): Point[] =>
    samples.map((sample) => ({ atMs: sample.atMs, value: pick(sample) }));
  const inMb = (line: readonly Point[]) => line.map(({ atMs, value }) => ({ atMs, value: value / MB }));
  const memory = [...linesOf(samples)].map(([name, line]) => ({ name, points: inMb(line) }));
  const picture = drawPlot(title, [
    { title: 'resident memory of every process, MB', lines: memory },
    {
      title: 'stores, MB',
      lines: [
        { name: 'Redis', points: inMb(of(({ redisBytes }) => redisBytes)) },
        { name: 'PostgreSQL', points: inMb(of(({ databaseBytes }) => databaseBytes)) },
      ],
    },
    {
      title: 'a second',
      lines: [
        { name: 'tries of all jobs', points: ratesOf(of(({ begun }) => begun)) },
        { name: 'payments', points: ratesOf(of(({ paid }) => paid)) },
      ],
    },
    {
      title: 'open connections',
      lines: [
        { name: 'Redis', points: of(({ redisClients }) => redisClients) },
        { name: 'PostgreSQL', points: of(({ databaseClients }) => databaseClients) },
      ],
    },
  ]);
  writeFileSync(`${FOLDER}/soak.svg`, picture);
  return FOLDER;
}
