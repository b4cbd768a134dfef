import type { Registry } from 'prom-client';

/** One line of a scrape. */
export interface Line {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The lines of the text that Prometheus gets, without the comments. */
const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', value] = /^([^{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) throw new Error(`expected a line of a metric, got ${line}`);
      const pairs = [...labels.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, key, text]) => [key, text]);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });

/** Scrapes as Prometheus does. */
export const scrape = async (registry: Registry): Promise<Line[]> => linesOf(await registry.metrics());

/** The values by name, of the metrics that have a single line. */
export const valuesOf = (lines: readonly Line[]): Record<string, number> =>
  Object.fromEntries(
    lines.filter(({ labels }) => Object.keys(labels).length === 0).map(({ name, value }) => [name, value]),
  );
