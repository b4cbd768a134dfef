import type { Verdict } from '../registry.js';
import { type FlatBound, flatness, lastThirdRatio, type Point, ratesOf } from './flatness.js';
import type { Sample } from './samples.js';
import type { SoakScale } from './settings.js';

const MB = 1024 * 1024;
/** A process whose life is shorter is still warming up when it ends: of four minutes the second half climbs by 60 to 180 MB an hour. */
const LINE_MS_MIN = 15 * 60_000;
/** What a leak of one job in a hundred would exceed many times over, and what a collector that is late does not reach. */
const PROCESS: FlatBound = { perHourMax: 48 * MB, endRatioMax: 1.15 };
const REDIS: FlatBound = { perHourMax: 8 * MB, endRatioMax: 1.15 };
/** The last third against the second. */
const THROUGHPUT_MIN = 0.9;

/** The memory of every process by the time of each sample; one that was replaced has a line of its own. */
export function linesOf(samples: readonly Sample[]): ReadonlyMap<string, readonly Point[]> {
  const lines = new Map<string, Point[]>();
  for (const { atMs, rss } of samples)
    for (const [name, value] of Object.entries(rss)) {
      const line = lines.get(name) ?? [];
      line.push({ atMs, value });
      lines.set(name, line);
    }
  return lines;
}

/** I9: memory of processes that live long enough, and of Redis, has levelled off. */
export function checkMemory(samples: readonly Sample[], { isJudged }: SoakScale): Verdict {
  const lines = linesOf(samples);
  if (!isJudged) {
    const evidence = `${lines.size} processes in ${samples.length} samples; too short to be judged`;
    return { invariant: 'memory is read', held: lines.size > 1 && samples.length > 1, evidence };
  }
  const long = [...lines].filter(([, line]) => durationOf(line) >= LINE_MS_MIN);
  const redis = samples.map(({ atMs, redisBytes }) => ({ atMs, value: redisBytes }));
  const judged = [
    ...long.map(([name, line]) => ({ name, line, bound: PROCESS })),
    { name: 'redis', line: redis, bound: REDIS },
  ].map(({ name, line, bound }) => ({ name, line, flat: flatness(line, bound) }));
  const roles = new Set(long.map(([name]) => name.split('-')[0]));
  return {
    invariant: 'I9 memory flat',
    held: judged.every(({ flat }) => flat?.held) && roles.has('api') && roles.has('worker'),
    evidence: judged
      .map(({ name, line, flat }) =>
        flat
          ? `${name} ${inMb(line.at(-1)?.value)} MB, ${inMb(flat.perHour)} MB/h, end ${flat.endRatio.toFixed(2)}×`
          : `${name}: too few samples`,
      )
      .join('; '),
  };
}

const durationOf = (line: readonly Point[]): number => (line.at(-1)?.atMs ?? 0) - (line[0]?.atMs ?? 0);
const inMb = (bytes = Number.NaN): string => (bytes / MB).toFixed(1);

/** Throughput is in the last third what it was in the second: of everything, and of our own groups. */
export function checkThroughput(samples: readonly Sample[], { isJudged }: SoakScale): Verdict {
  const rates = {
    begun: ratesOf(samples.map(({ atMs, begun }) => ({ atMs, value: begun }))),
    paid: ratesOf(samples.map(({ atMs, paid }) => ({ atMs, value: paid }))),
  };
  const ratios = { begun: lastThirdRatio(rates.begun), paid: lastThirdRatio(rates.paid) };
  const total = samples.at(-1);
  const perSecond = (count = 0) => ((count * 1000) / (total?.atMs ?? 1)).toFixed(0);
  const counted = `${perSecond(total?.begun)} tries/s of all, ${perSecond(total?.paid)} payments/s`;
  return {
    invariant: 'throughput flat',
    held: isJudged
      ? ratios.begun >= THROUGHPUT_MIN && ratios.paid >= THROUGHPUT_MIN
      : (total?.paid ?? 0) > 0 && (total?.begun ?? 0) > 0,
    evidence: isJudged
      ? `${counted}; last third against second: ${ratios.begun.toFixed(2)}×, ${ratios.paid.toFixed(2)}×`
      : `${counted}; too short to be judged`,
  };
}
