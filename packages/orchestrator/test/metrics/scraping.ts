import type { MetricsRegistry } from '../../src/metrics/index.js';

/** The lines that Prometheus gets, without the comments: `name{labels}` → value. */
export async function scrape(registry: MetricsRegistry): Promise<Readonly<Record<string, number>>> {
  const lines = (await registry.metrics())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, value] = /^(\S+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`expected a line of a metric, got ${line}`);
      return [name, Number(value)] as const;
    });
  return Object.fromEntries(lines);
}
