import { defineProcessor } from '@millrace/bulk-action';
import { NonRetryableError } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { defineDag, task } from '@millrace/outbox';
import { defineApp } from '../../src/define-app.js';

/** A little of everything, for tests that go through all routes. */
export const FIXTURE_APP = defineApp({
  processors: [
    defineProcessor({ type: 'fixture.ok', process: () => ({ fine: true }) }),
    defineProcessor({
      type: 'fixture.dead',
      retry: { retries: 0 },
      process: () => {
        throw new Error('it never works');
      },
    }),
  ],
  dags: [
    defineDag('fixture-dag', {
      first: task({ run: () => 1 }),
      bad: task({
        after: ['first'],
        retry: { retries: 0 },
        run: () => {
          throw new NonRetryableError('this step fails');
        },
      }),
    }),
  ],
  routes: defineRoutes({ 'FIXTURE.ECHO': inline(({ payload }) => payload) }),
  chat: {
    async *processEnqueuedTurn({ message }) {
      yield `you said ${message}`;
    },
  },
});
