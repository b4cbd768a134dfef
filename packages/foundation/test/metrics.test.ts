import { type OpenMetricsContentType, Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import {
  histogram,
  type MetricsRegistry,
  ObservedMetric,
  registerMetrics,
  storeGauge,
  zeroCounter,
} from '../src/metrics.js';

const text = (name: string) => ({ name, help: `The ${name}.` });
const gauge = (name: string) => storeGauge(text(name), () => 1);
const observedCounter = (name: string, value: number) =>
  new ObservedMetric({ ...text(name), type: 'counter', aggregator: 'sum', read: () => value });
const linesOf = async (registry: MetricsRegistry) =>
  (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'));

it('shows the values of each scrape, and no line for a value that is not known', async () => {
  const registry = new Registry();
  let size: number | undefined;
  const byState = [
    { value: 1, labels: { state: 'ready' } },
    { metricName: 'states_sum', value: 2, labels: {} },
  ];
  const gauges = [storeGauge(text('size'), () => size), storeGauge(text('states'), async () => byState)];
  registerMetrics(registry, [...gauges, observedCounter('seen_total', 5)]);
  const others = ['states{state="ready"} 1', 'states_sum 2', 'seen_total 5'];
  expect(await linesOf(registry)).toEqual(others);
  size = 3;
  registry.resetMetrics();
  expect(await linesOf(registry)).toEqual(['size 3', ...others]);
  const [store, , seen] = await registry.getMetricsAsJSON();
  expect(store).toMatchObject({ type: 'gauge', aggregator: 'max' });
  expect(seen).toMatchObject({ type: 'counter', aggregator: 'sum' });
});

it('begins counters at 0, fills them and histograms by events, and removes them though OpenMetrics renames', async () => {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const ends = zeroCounter(text('ends_total'), ['result'], [{ result: 'done' }, { result: 'failed' }]);
  const took = histogram(text('took'), [1, 10]);
  const metrics = [ends, zeroCounter(text('plain')), observedCounter('seen_total', 2), took];
  const unlisten = vi.fn();
  const remove = registerMetrics(registry, metrics, () => {
    ends.inc({ result: 'done' });
    took.observe(5);
    return [unlisten];
  });
  expect(await linesOf(registry)).toEqual([
    ...['ends_total{result="done"} 1', 'ends_total{result="failed"} 0', 'plain_total 0', 'seen_total 2'],
    ...['took_bucket{le="1"} 0', 'took_bucket{le="10"} 1', 'took_bucket{le="+Inf"} 1'],
    ...['took_sum 5', 'took_count 1'],
  ]);
  remove();
  expect([registry.getMetricsAsArray(), unlisten.mock.calls.length]).toEqual([[], 1]);
});

it('registers nothing if a name is taken, and removes no later metric of the same name', () => {
  const registry = new Registry();
  const remove = registerMetrics(registry, [gauge('a'), gauge('b')]);
  const listen = vi.fn(() => []);
  const isTaken = 'already been registered';
  expect(() => registerMetrics(registry, [gauge('c'), gauge('b')], listen)).toThrow(isTaken);
  expect([listen.mock.calls.length, registry.getMetricsAsArray().length]).toEqual([0, 2]);
  registry.removeSingleMetric('a');
  registerMetrics(registry, [gauge('a')]);
  remove();
  expect(registry.getMetricsAsArray()).toMatchObject([{ name: 'a' }]);
});
