import { defineConfig } from 'vitest/config';
import { projects, serialTests, shared } from './vitest.config.ts';

/** Tests about real time and real processes: one file after the other, nothing else on the machine. */
export default defineConfig({
  ...shared,
  test: {
    projects: projects([serialTests], []),
    fileParallelism: false,
    testTimeout: 60_000,
  },
});
