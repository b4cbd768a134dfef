import type { Gauge } from './gauges.js';
import { registerBench } from './registry.js';
import { startApi } from './server/api-process.js';
import type { ServerProcess } from './server/server-process.js';
import { uploadLines } from './server/upload-lines.js';

let api: Promise<ServerProcess> | undefined;
let uploads = 0;

/** One upload into a group of its own; nobody works on it, as in an installation whose workers are elsewhere. */
const uploadGauge = (jobs: number): Gauge => ({
  work: `${jobs.toLocaleString('en')} jobs of 100 bytes in one application/x-ndjson request (role api, Redis)`,
  runs: 3,
  readings: [
    { name: 'jobs per second', unit: '/s' },
    { name: 'the API’s memory at most', unit: 'MB', most: 300 },
    { name: 'the API’s CPU per job', unit: 'µs' },
  ],
  async run() {
    api ??= startApi();
    const { url, peakMb, cpuMs } = await api;
    const cpuBefore = cpuMs();
    const startedAt = performance.now();
    const { status, body } = await uploadLines(url, `upload-${++uploads}`, jobs);
    const seconds = (performance.now() - startedAt) / 1000;
    if (status !== 201 || body.added !== jobs)
      throw new Error(`The upload was answered ${status} ${JSON.stringify(body)}`);
    return [jobs / seconds, peakMb(), ((cpuMs() - cpuBefore) * 1000) / jobs];
  },
});

registerBench({
  name: 'server',
  settings: [
    'Redis and PostgreSQL on this machine; the sender is this process; the group is sealed at the end',
  ],
  pairs: 3,
  warmUps: 0,
  rows: () => [],
  gauges: ({ smoke }) => [uploadGauge(smoke ? 20_000 : 1_000_000)],
  async close() {
    await (await api)?.stop();
  },
});
