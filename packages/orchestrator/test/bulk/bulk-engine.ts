import {
  type Aggregator,
  BulkActionEngine,
  type BulkActionEngineOptions,
  defineAggregator,
  defineProcessor,
  type Job,
} from '@millrace/bulk-action';
import { seededRng } from '@millrace/foundation';
import { type Latch, latch } from '@millrace/testkit';
import type { BulkGroup } from '../../src/bulk/index.js';
import { Envelope, OpId } from '../../src/index.js';

/** Long enough for a loaded machine; nothing waits for its end unless something is wrong. */
export const DEADLINE_MS = 15_000;

let operations = 0;

/** An operation's command on its way, with an id that no other test has. */
export function envelopeOf(
  payload: unknown,
  more: { tenant?: string; traceparent?: string; opId?: string } = {},
) {
  const number = (++operations).toString(16).padStart(12, '0');
  const { opId = `01980000-0000-7000-8000-${number}`, ...rest } = more;
  const command = { domain: 'MAIL', eventType: 'CAMPAIGN', bizKey: 'spring', idemKey: opId, payload };
  return Envelope.now(OpId.of(opId), command, rest);
}

/** A bulk engine on memory, or on the store it is given, whose jobs do as their payload says. */
export class BulkWorld {
  readonly engine: BulkActionEngine;
  /** Jobs that ran, `group#job`. */
  readonly ran: string[] = [];
  readonly mayEnd: Latch<void> = latch('jobs that hold may end');

  constructor(options: BulkActionEngineOptions = {}) {
    const process = async (job: Job<{ hold?: boolean; fail?: boolean; size?: number } | null>) => {
      this.ran.push(`${job.groupId}#${job.id}`);
      if (job.payload?.hold) await this.mayEnd.promise;
      if (job.payload?.fail)
        return {
          success: false as const,
          error: { message: 'as the test wants', code: 'NO', retryable: true },
        };
      return { success: true as const, data: 'x'.repeat(job.payload?.size ?? 1) };
    };
    this.engine = new BulkActionEngine({
      rng: seededRng('bulk routes'),
      processors: [defineProcessor({ type: 'mail', retry: { retries: 0 }, process })],
      aggregators: [
        defineAggregator({
          type: 'mail',
          map: ({ data }) => String(data),
          reduce: async (results) => {
            const all: string[] = [];
            for await (const result of results) all.push(result);
            return all.sort();
          },
        }) as Aggregator,
      ],
      ...options,
    });
  }
}

/** Jobs of a campaign, one per recipient. */
export const toGroup = ({ payload }: { readonly payload: unknown }): BulkGroup => ({
  jobs: (payload as readonly object[]).map((job, index) => ({
    id: `j${index}`,
    processorType: 'mail',
    payload: job,
  })),
  weight: 2,
});
