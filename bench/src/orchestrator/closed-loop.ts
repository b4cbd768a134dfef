import { Connections } from './connections.js';
import type { ClosedLoopBrief, ClosedLoopReport } from './load-brief.js';
import { workRequests } from './requests.js';

/** Long enough for every answer: none may be a 202. */
const BUDGET_MS = 5_000;

/** Runs a closed loop; an answer that is not a 200 ends it, because a rate of errors is no rate. */
export async function closedLoop({
  port,
  path,
  atOnce,
  seconds,
}: ClosedLoopBrief): Promise<ClosedLoopReport> {
  const connections = new Connections(port, atOnce);
  try {
    await connections.open(atOnce);
    const requests = workRequests(path, 0, BUDGET_MS);
    const [cpuBefore, startedMs] = [process.cpuUsage(), performance.now()];
    const endMs = startedMs + seconds * 1000;
    let [sent, answered] = [0, 0];
    await new Promise<void>((resolve, reject) => {
      const next = () => {
        connections.send(requests.of(sent++), (answer) => {
          answered += 1;
          if (answer instanceof Error) reject(answer);
          else if (answer.status !== 200) reject(new Error(`answered with ${answer.status}: ${answer.body}`));
          else if (performance.now() < endMs) next();
          else if (answered === sent) resolve();
        });
      };
      for (let at = 0; at < atOnce; at++) next();
    });
    const wallMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    return { requests: answered, wallMs, cpuMs: (user + system) / 1000 };
  } finally {
    connections.close();
  }
}
