import { inline } from '@millrace/orchestrator';
import { bulk } from '@millrace/orchestrator/bulk';
import { defineApp } from 'millrace';

/** Never ends, whatever its signal says. */
const forever = () => new Promise(() => {});

export const app = defineApp({
  processors: [{ type: 'stuck', process: forever }],
  routes: {
    'STUCK.WAIT': inline(forever),
    'STUCK.JOBS': bulk(() => ({ jobs: [{ processorType: 'stuck', payload: {} }] })),
  },
});
