import type { Gauge } from './gauges.js';
import { fullSpeed, sustainedRate } from './orchestrator/full-speed.js';
import { type Mix, mixedLoad } from './orchestrator/mixed-load.js';
import { stopLoad } from './orchestrator/server.js';
import { stopServer } from './outbox/server.js';
import { describePeers } from './peers.js';
import { registerBench } from './registry.js';

const MIX: Mix = {
  perSecond: 1_000,
  seconds: 60,
  warmUpSeconds: 5,
  budgetMs: 200,
  fastMs: 20,
  slowMs: 500,
  slowEvery: 5,
};
const SMOKE_MIX: Mix = { ...MIX, perSecond: 40, seconds: 0.5, warmUpSeconds: 0.1 };
const driveOf = (smoke: boolean) => (smoke ? { atOnce: 4, seconds: 0.1 } : { atOnce: 64, seconds: 3 });

function gauges({ smoke }: { smoke: boolean }): Gauge[] {
  // The row has started a server with operations in memory by then, and what follows it is of no use after one short iteration.
  if (smoke) return [mixedLoad('postgres', SMOKE_MIX, { runs: 1, isJudged: true })];
  return [
    mixedLoad('memory', MIX, { runs: 9, isJudged: true }),
    mixedLoad('postgres', MIX, { runs: 9, isJudged: true }),
    mixedLoad('pglite', MIX, { runs: 1, isJudged: false }),
    sustainedRate(driveOf(smoke), 3),
  ];
}

registerBench({
  name: 'orchestrator',
  settings: [
    ...describePeers(['fastify']),
    `fixed rate: an open loop in a process of its own, times from when a request should have been sent; every fifth request ${MIX.slowMs} ms of work, the others ${MIX.fastMs} ms (timers), time budget ${MIX.budgetMs} ms; ${MIX.warmUpSeconds} s of the same before; a new server process for each run`,
    'right is a 200 with its own outcome for fast work and a 202 with body and Location for slow work; afterwards every status URL is asked',
    'highest rate: keep-alive connections with one request at a time each, bodies of 130 bytes, POST everywhere',
    'server: one NestJS 12 application on Fastify with OrchestratorModule as it comes, on 127.0.0.1; Nest logs errors only; of the store in PostgreSQL the pool as it comes',
    'PostgreSQL: one private server, loopback TCP, fsync and synchronous_commit on, on the disk of the temporary folder, the rest as it comes; not part of the CPU read here. PGlite: in the server process, in a folder',
  ],
  pairs: 9,
  // Until everything is compiled: the first ten thousand requests cost up to twice as much.
  warmUps: 3,
  rows: ({ smoke }) => [fullSpeed(driveOf(smoke))],
  gauges,
  async close() {
    await stopLoad();
    await stopServer();
  },
});
