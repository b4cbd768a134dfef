import { defineProcessor } from '@millrace/bulk-action';
import { NonRetryableError } from '@millrace/foundation';
import { defineRoutes, inline } from '@millrace/orchestrator';
import { defineDag, task } from '@millrace/outbox';
import { defineApp } from 'millrace';

/** Would run in every page that takes a text for HTML. */
export const SCRIPT = '<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=2</script>';
/** Would be run by a page that makes it a link. */
export const LINK = 'javascript:globalThis.ran=3';
/** Turns the direction of what follows, and hides a character. */
const TURNED = 'safe\u202egnp.exe\u200b';
/** As it is read: everything that is not seen is written out. */
export const TURNED_AS_SHOWN = 'safe\\u202egnp.exe\\u200b';
/** What strangers store wherever they can. */
export const HOSTILE = `${SCRIPT} ${LINK} ${TURNED}`;

/** Work that gives and throws hostile texts, as a server loads it. */
export const app = defineApp({
  processors: [
    defineProcessor({
      type: 'strangers.fail',
      retry: { retries: 0 },
      process: () => {
        throw new Error(HOSTILE);
      },
    }),
  ],
  dags: [
    defineDag('strangers-dag', {
      gives: task({ run: () => ({ text: HOSTILE }) }),
      fails: task({
        after: ['gives'],
        retry: { retries: 0 },
        run: () => {
          throw new NonRetryableError(HOSTILE);
        },
      }),
    }),
  ],
  routes: defineRoutes({ 'STRANGERS.ECHO': inline(({ payload }) => payload) }),
  chat: {
    async *processEnqueuedTurn({ message }) {
      yield `${message} ${HOSTILE}`;
    },
  },
});
