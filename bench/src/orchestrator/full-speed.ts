import type { Gauge } from '../gauges.js';
import type { Side } from '../measure.js';
import type { Row } from '../registry.js';
import type { ClosedLoopBrief, ClosedLoopReport } from './load-brief.js';
import { load, type Server, startServer } from './server.js';
import { NOTHING_PATH, OPERATIONS_PATH } from './server-brief.js';

/** How hard a server is driven. */
export interface Drive {
  readonly atOnce: number;
  readonly seconds: number;
}

type Contender = 'orchestrator' | 'nest' | 'fastify';

/** Orchestrator, an empty NestJS route and an empty Fastify route; the first two are one process. */
class Contenders {
  #servers: Promise<readonly [operations: Server, nothing: Server]> | undefined;

  async server(contender: Contender): Promise<Server> {
    this.#servers ??= Promise.all([
      startServer({ serves: 'orchestrator', store: { kind: 'memory' } }),
      startServer({ serves: 'nothing' }),
    ]);
    const [operations, nothing] = await this.#servers;
    return contender === 'fastify' ? nothing : operations;
  }

  async close(): Promise<void> {
    const servers = await this.#servers;
    this.#servers = undefined;
    await Promise.all(servers?.map((server) => server.stop()) ?? []);
  }
}

/** A run at full speed. */
interface Sprint extends ClosedLoopReport {
  readonly serverCpuMs: number;
}

async function sprint(contenders: Contenders, contender: Contender, drive: Drive): Promise<Sprint> {
  const server = await contenders.server(contender);
  const path = contender === 'nest' ? NOTHING_PATH : OPERATIONS_PATH;
  const before = await server.usage();
  const brief: ClosedLoopBrief = { kind: 'closed', port: server.port, path, ...drive };
  const report = (await (await load()).ask(brief)) as ClosedLoopReport;
  const { cpuMs } = await server.usage();
  return { ...report, serverCpuMs: cpuMs - before.cpuMs };
}

const MS_IN_NS = 1e6;

/** As many requests as the servers answer, with work that takes no time: the highest sustained rate of each. */
export function fullSpeed(drive: Drive): Row {
  const contenders = new Contenders();
  const side = (name: string, contender: Contender, judged: Partial<Side> = {}): Side => ({
    name,
    ...judged,
    async sample() {
      const { wallMs, requests } = await sprint(contenders, contender, drive);
      return (wallMs / requests) * MS_IN_NS;
    },
  });
  return {
    work: `highest rate, work of 0 ms, memory, ${drive.atOnce} at once, per request`,
    unit: 'ns',
    bar: 0,
    aim: 0.5,
    ours: side('Millrace', 'orchestrator'),
    peers: [
      side('Fastify, a route that does nothing', 'fastify'),
      side('NestJS on it, a route that does nothing', 'nest', { aim: 1 }),
    ],
    close: () => contenders.close(),
  };
}

/** The same in rates and in CPU time of the servers, which the load cannot hide. */
export const sustainedRate = (drive: Drive, runs: number): Gauge => ({
  work: `highest rate, ${drive.atOnce} at once`,
  runs,
  readings: [
    { name: 'orchestrator', unit: 'requests/s' },
    { name: 'a bare Fastify route', unit: 'requests/s' },
    { name: 'CPU per request, orchestrator', unit: 'µs' },
    { name: 'CPU per request, bare Fastify', unit: 'µs' },
    { name: 'ratio of CPU per request', unit: '×', aim: 0.5 },
    { name: 'CPU of the load beside bare Fastify', unit: '% of a core' },
  ],
  async run() {
    const contenders = new Contenders();
    try {
      for (const contender of ['orchestrator', 'fastify'] as const)
        await sprint(contenders, contender, drive);
      const ours = await sprint(contenders, 'orchestrator', drive);
      const bare = await sprint(contenders, 'fastify', drive);
      const [ourCost, bareCost] = [ours, bare].map(
        ({ serverCpuMs, requests }) => (1000 * serverCpuMs) / requests,
      ) as [number, number];
      const rates = [ours, bare].map(({ requests, wallMs }) => (1000 * requests) / wallMs);
      return [...rates, ourCost, bareCost, bareCost / ourCost, (100 * bare.cpuMs) / bare.wallMs];
    } finally {
      await contenders.close();
    }
  },
});
