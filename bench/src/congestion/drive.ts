import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConcurrencyControl } from './comparators.js';
import { TICK_MS } from './hidden-service.js';

/** A client with its connections kept open, as every caller of a service has. */
export function openClient(url: string, connections: number): { call(): Promise<number>; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    /** The status. */
    call: () =>
      new Promise((resolve, reject) => {
        const sent = request(url, { method: 'POST', agent }, (response) => {
          response.resume();
          response.once('end', () => resolve(response.statusCode ?? 0));
        });
        sent.once('error', reject);
        sent.end();
      }),
    close: () => agent.destroy(),
  };
}

const IDLE_MS = 1;

/**
 * Calls a service from workers that always have a job, as many at once as the control allows. A refused job waits for its
 * back-off as in the engine, but that frees its worker, which takes the next one: to the service it is all one.
 * @returns the limit at every tick.
 */
export async function driveByConcurrency(
  url: string,
  control: ConcurrencyControl,
  { workers, forMs }: { readonly workers: number; readonly forMs: number },
): Promise<number[]> {
  const client = openClient(url, workers);
  const beganAt = performance.now();
  const isOver = () => performance.now() - beganAt >= forMs;
  const limits: number[] = [];
  let inFlight = 0;
  const worker = async () => {
    while (!isOver()) {
      if (inFlight >= control.limit) {
        await delay(IDLE_MS);
        continue;
      }
      inFlight += 1;
      const startedMs = performance.now();
      const status = await client.call();
      const nowMs = performance.now();
      inFlight -= 1;
      if (status === 429) control.refused(nowMs, startedMs);
      else control.accepted(nowMs, nowMs - startedMs);
    }
  };
  const sampler = setInterval(() => limits.push(control.limit), TICK_MS);
  try {
    await Promise.all(Array.from({ length: workers }, worker));
  } finally {
    clearInterval(sampler);
    client.close();
  }
  return limits;
}
