import { defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { seededRng, systemClock } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { defineDag, task } from '@millrace/outbox';
import { describe, expect, it } from 'vitest';
import { resolveApp } from '../../src/compose/load-app.js';
import type { AppParts } from '../../src/define-app.js';
import { withDemo } from '../../src/demo/add-demo.js';

const added = (parts: AppParts) =>
  withDemo(resolveApp(parts, {} as never), { clock: systemClock, rng: seededRng(1) }, 'app.js');

describe('the demo beside an application', () => {
  it('adds its parts to the user’s', () => {
    const app = added({ processors: [defineProcessor({ type: 'mine', process: () => 1 })] });
    expect(app.processors.map(({ type }) => type)).toEqual(['mine', 'demo.work', 'demo.call']);
    expect(Object.keys(app.routes)).toEqual(['DEMO.GREET', 'DEMO.MAIL', 'DEMO.CLOSE']);
    expect(app.dags.map(({ name }) => name)).toEqual(['demo-settle']);
  });

  const aggregator = defineAggregator({ type: 'demo.work', map: () => 1, reduce: () => 1 });
  it.each<[string, AppParts]>([
    ['processor demo.work', { processors: [defineProcessor({ type: 'demo.work', process: () => 1 })] }],
    ['aggregator demo.work', { aggregators: [aggregator] }],
    ['DAG demo-settle', { dags: [defineDag('demo-settle', { a: task({ run: () => 1 }) })] }],
    ['route DEMO.GREET', { routes: defineRoutes({ 'DEMO.GREET': inline(() => 1) }) }],
  ])('refuses an application that has a %s', (name, parts) => {
    expect(() => added(parts)).toThrow(
      expect.objectContaining({
        code: 'APP_INVALID',
        message: `The application app.js cannot be used: the ${name} belongs to the demo; choose another name`,
      }),
    );
  });
});
