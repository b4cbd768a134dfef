import { type OpenMetricsContentType, Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { histogram, ObservedMetric, registerMetrics, storeGauge, zeroCounter } from '../src/metrics.js';

const text = (name: string) => ({ name, help: `The ${name}.` });
const lines = async (registry: Registry | Registry<OpenMetricsContentType>) =>
  (await registry.metrics()).split('\n').filter((line) => line && !line.startsWith('#'));

it('shows the values of each scrape, and no line for a value that is not known', async () => {
  const registry = new Registry();
  let size: number | undefined;
  const total = new ObservedMetric({
    ...text('seen_total'),
    type: 'counter',
    aggregator: 'sum',
    read: () => 5,
  });
  const byState = [
    { value: 1, labels: { state: 'ready' } },
    { metricName: 'states_sum', value: 2, labels: {} },
  ];
  registerMetrics(registry, [
    storeGauge(text('size'), () => size),
    total,
    storeGauge(text('states'), () => byState),
  ]);
  const others = ['seen_total 5', 'states{state="ready"} 1', 'states_sum 2'];
  expect(await lines(registry)).toEqual(others);
  size = 3;
  expect(await lines(registry)).toEqual(['size 3', ...others]);
  registry.resetMetrics();
  expect(await registry.getMetricsAsJSON()).toMatchObject([
    { name: 'size', type: 'gauge', aggregator: 'max', values: [{ value: 3 }] },
    { name: 'seen_total', type: 'counter', aggregator: 'sum' },
    { name: 'states' },
  ]);
});

it('begins counters at 0 for each label, and fills counters and histograms by events', async () => {
  const registry = new Registry();
  const ends = zeroCounter(text('ends'), ['result'], [{ result: 'done' }, { result: 'failed' }]);
  const plain = zeroCounter(text('plain'));
  const took = histogram(text('took'), [1, 10]);
  const unlisten = vi.fn();
  const remove = registerMetrics(registry, [ends, plain, took], () => {
    ends.inc({ result: 'done' });
    took.observe(5);
    return [unlisten];
  });
  expect(await lines(registry)).toEqual([
    ...['ends{result="done"} 1', 'ends{result="failed"} 0', 'plain 0'],
    ...[
      'took_bucket{le="1"} 0',
      'took_bucket{le="10"} 1',
      'took_bucket{le="+Inf"} 1',
      'took_sum 5',
      'took_count 1',
    ],
  ]);
  remove();
  expect([registry.getMetricsAsArray(), unlisten.mock.calls.length]).toEqual([[], 1]);
});

it('registers nothing if a name is taken, and leaves a later metric of the same name alone', () => {
  const registry = new Registry();
  const one = (name: string) => storeGauge(text(name), () => 1);
  const remove = registerMetrics(registry, [one('a'), one('b')]);
  const listen = vi.fn(() => []);
  expect(() => registerMetrics(registry, [one('c'), one('b')], listen)).toThrow('already been registered');
  expect([listen.mock.calls.length, registry.getMetricsAsArray().length]).toEqual([0, 2]);
  registry.removeSingleMetric('a');
  registerMetrics(registry, [one('a')]);
  remove();
  expect(registry.getMetricsAsArray()).toMatchObject([{ name: 'a' }]);
});

it('removes counters from a registry that writes OpenMetrics', async () => {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const observed = new ObservedMetric({
    ...text('b_total'),
    type: 'counter',
    aggregator: 'sum',
    read: () => 2,
  });
  const remove = registerMetrics(registry, [zeroCounter(text('a_total')), observed]);
  expect(await lines(registry)).toEqual(['a_total 0', 'b_total 2']);
  remove();
  expect(registry.getMetricsAsArray()).toEqual([]);
});
