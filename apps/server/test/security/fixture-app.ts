import { defineProcessor } from '@millrace/bulk-action';
import { NonRetryableError } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { defineDag, task } from '@millrace/outbox';
import { defineApp } from '../../src/define-app.js';

/** The secrets of the keys that tests use, by what they are for. */
export const SECRETS = {
  read: 'secret-of-the-reading-key-0001',
  operate: 'secret-of-the-operating-key-02',
  admin: 'secret-of-the-admin-key-000003',
  acme: 'secret-of-the-key-of-acme-0004',
  rival: 'secret-of-the-key-of-rival-005',
} as const;

/** Keys of every role, and two customers' that may do anything with their own. */
export const API_KEYS = [
  `reader:read:${SECRETS.read}`,
  `operator:operate:${SECRETS.operate}`,
  `boss:admin:${SECRETS.admin}`,
  `acme-key:admin:acme:${SECRETS.acme}`,
  `rival-key:admin:rival:${SECRETS.rival}`,
].join(',');

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
