import { quantile } from '../measure.js';
import { type Answer, Connections } from './connections.js';
import type { OpenLoopBrief, OpenLoopReport, Percentiles } from './load-brief.js';
import { isOutcomeOf, statusRequest, statusUrlOf, type WorkRequests, workRequests } from './requests.js';
import { OPERATIONS_PATH } from './server-brief.js';

/** What is not answered by then counts as an error of so many milliseconds. */
const ANSWERED_WITHIN_MS = 10_000;
const CONNECTIONS_FIRST = 100;
const CONNECTIONS_MOST = 2_000;
const ASKED_AT_ONCE = 20;
/** How long an operation that was answered with a status URL may still run. */
const ENDED_WITHIN_S = 10;

/** What is kept of the requests of a loop. */
class Tally {
  readonly latencies: Float64Array;
  readonly sendDelays: Float64Array;
  readonly converted: { readonly statusUrl: string; readonly number: number }[] = [];
  readonly #complaints = new Map<string, { times: number; readonly example: string }>();
  fastConverted = 0;

  constructor(requests: number) {
    this.latencies = new Float64Array(requests).fill(ANSWERED_WITHIN_MS);
    this.sendDelays = new Float64Array(requests);
  }

  get errors(): number {
    return [...this.#complaints.values()].reduce((sum, { times }) => sum + times, 0);
  }

  /** What went wrong, how often, and how it looked the first time. */
  get complaints(): readonly string[] {
    return [...this.#complaints].map(([what, { times, example }]) => `${what}, ${times} times: ${example}`);
  }

  complain(what: string, example: string, times = 1): void {
    const complaint = this.#complaints.get(what);
    if (complaint) complaint.times += times;
    else this.#complaints.set(what, { times, example });
  }
}

/** One run of an open loop over connections that are there. */
class OpenLoop {
  readonly #brief: OpenLoopBrief;
  readonly #connections: Connections;
  readonly #fast: WorkRequests;
  readonly #slow: WorkRequests;

  constructor(brief: OpenLoopBrief, connections: Connections) {
    this.#brief = brief;
    this.#connections = connections;
    this.#fast = workRequests(OPERATIONS_PATH, brief.fastMs, brief.budgetMs);
    this.#slow = workRequests(OPERATIONS_PATH, brief.slowMs, brief.budgetMs);
  }

  isSlow(at: number): boolean {
    return at % this.#brief.slowEvery === this.#brief.slowEvery - 1;
  }

  /** Sends every request when its time has come, whatever became of those before it. */
  async run(seconds: number): Promise<Tally> {
    const gapMs = 1000 / this.#brief.perSecond;
    const requests = Math.round(seconds * this.#brief.perSecond);
    const tally = new Tally(requests);
    if (requests === 0) return tally;
    const startMs = performance.now();
    let [sent, answered] = [0, 0];
    await new Promise<void>((resolve) => {
      const tick = () => {
        const now = performance.now();
        for (; sent < requests && startMs + sent * gapMs <= now; sent++) {
          const [at, dueMs] = [sent, startMs + sent * gapMs];
          tally.sendDelays[at] = now - dueMs;
          this.#connections.send((this.isSlow(at) ? this.#slow : this.#fast).of(at), (answer) => {
            tally.latencies[at] = performance.now() - dueMs;
            this.#judge(tally, at, answer);
            answered += 1;
            if (answered === requests) resolve();
          });
        }
        if (sent < requests) setTimeout(tick, 1);
        else setTimeout(resolve, ANSWERED_WITHIN_MS).unref();
      };
      tick();
    });
    if (answered < requests)
      tally.complain('not answered', `within ${ANSWERED_WITHIN_MS} ms`, requests - answered);
    return tally;
  }

  /** Asks for every operation that was answered with a status URL; says how many did not end well. */
  async countUnfinished({ converted }: Tally): Promise<number> {
    let unfinished = 0;
    const left = [...converted];
    const ask = async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const { statusUrl, number } = next;
        const request = statusRequest(`${statusUrl}?wait=${ENDED_WITHIN_S}`);
        const answer = await new Promise<Answer | Error>((resolve) => {
          this.#connections.send(request, resolve);
        });
        if (answer instanceof Error || answer.status !== 200 || !isOutcomeOf(answer.body, number))
          unfinished += 1;
      }
    };
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, ask));
    return unfinished;
  }

  #judge(tally: Tally, at: number, answer: Answer | Error): void {
    if (answer instanceof Error) {
      tally.complain('broken', answer.message);
      return;
    }
    const { status, head, body } = answer;
    if (status === 200 && !this.isSlow(at) && isOutcomeOf(body, this.#fast.numberOf(at))) return;
    const statusUrl = status === 202 ? statusUrlOf(head, body) : undefined;
    if (statusUrl) {
      tally.converted.push({ statusUrl, number: this.#fast.numberOf(at) });
      if (this.isSlow(at)) return;
      tally.fastConverted += 1;
    }
    tally.complain(`${this.isSlow(at) ? 'slow' : 'fast'} work was answered with ${status}`, body);
  }
}

/** Runs an open loop. */
export async function openLoop(brief: OpenLoopBrief, onWarm: () => Promise<void>): Promise<OpenLoopReport> {
  const connections = new Connections(brief.port, CONNECTIONS_MOST);
  try {
    await connections.open(CONNECTIONS_FIRST);
    const loop = new OpenLoop(brief, connections);
    await loop.run(brief.warmUpSeconds);
    await onWarm();
    const [cpuBefore, startedMs] = [process.cpuUsage(), performance.now()];
    const tally = await loop.run(brief.seconds);
    const wallMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    const latencies = [...tally.latencies];
    return {
      requests: latencies.length,
      all: percentilesOf(latencies),
      fast: percentilesOf(latencies.filter((_, at) => !loop.isSlow(at))),
      slow: percentilesOf(latencies.filter((_, at) => loop.isSlow(at))),
      errors: tally.errors,
      fastConverted: tally.fastConverted,
      complaints: tally.complaints,
      sendDelay: percentilesOf([...tally.sendDelays]),
      wallMs,
      cpuMs: (user + system) / 1000,
      unfinished: await loop.countUnfinished(tally),
    };
  } finally {
    connections.close();
  }
}

const percentilesOf = (values: readonly number[]): Percentiles => ({
  p50: quantile(values, 0.5),
  p95: quantile(values, 0.95),
  p99: quantile(values, 0.99),
  max: quantile(values, 1),
});
