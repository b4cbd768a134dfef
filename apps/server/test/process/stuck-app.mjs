import { inline } from '@millrace/orchestrator';
import { bulk } from '@millrace/orchestrator/bulk';
import { defineApp } from 'millrace';

/** Never ends, whatever its signal says. */
const forever = () => new Promise(() => {});

export const app = defineApp({
  processors: [{ type: 'stuck', process: forever }],
  routes: {
    'STUCK.WAIT': inline(forever),
    // What somebody does while looking for a mistake.
    'STUCK.TELL': inline((_, { log }) =>
      log.error({ env: process.env }, Object.values(process.env).join(' ')),
    ),
    'STUCK.JOBS': bulk(() => ({ jobs: [{ id: 'one', processorType: 'stuck', payload: {} }] })),
  },
});
