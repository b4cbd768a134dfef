import type { ResponseOf, ServerClient } from '@millrace/contract/server-client';
import type { Clock } from '@millrace/foundation';
import { BOOKS, DEMO_TENANTS } from '../../demo/plan.js';
import { ChatWatch } from './chat-watch.js';
import { DeadLetterCounts } from './dead-letter-counts.js';
import type { DemoFacts } from './facts.js';
import { ShareLedger } from './share-ledger.js';
import { hasEnded, serviceFacts, tenantFacts } from './tenant-facts.js';
import { batchFacts, operationFacts } from './work-facts.js';

/** A demo that runs on a server. */
export interface WatchedDemo {
  readonly client: ServerClient;
  readonly url: string;
  readonly demo: ResponseOf<'startDemo'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const PAGE_SIZE = 200;
/** Of each list: a demo of ten minutes has a thousand of anything. */
const PAGES_MAX = 6;
/** The clocks of a server and its database need not agree. */
const CLOCKS_APART_MS = 60_000;

/** Asks a server how a demo fares. */
export class DemoWatch {
  readonly #watched: WatchedDemo;
  readonly #ledger = new ShareLedger();
  readonly #deadLetters: DeadLetterCounts;
  readonly #chat: ChatWatch;
  readonly #begin: number;

  constructor(watched: WatchedDemo) {
    this.#watched = watched;
    const { client, demo, clock, signal } = watched;
    this.#deadLetters = new DeadLetterCounts(client);
    this.#chat = new ChatWatch(client, demo.run, signal);
    // One that ran already is as old as the two clocks say.
    const ageMs = demo.created ? 0 : Math.max(0, clock.now() - Date.parse(demo.startedAt));
    this.#begin = clock.monotonicMs() - ageMs;
  }

  /** What has changed since the last look without asking: the time, and the answer that is being streamed. */
  freshened(facts: DemoFacts): DemoFacts {
    return { ...facts, elapsedMs: this.#elapsedMs(), chat: this.#chat.facts };
  }

  /**
   * Asks for everything.
   * @throws ProblemError and what `fetch` throws.
   */
  async look(): Promise<DemoFacts> {
    const { client, demo, url, signal } = this.#watched;
    const call = { signal };
    const [groups, fairness, congestion, batches, operations] = await Promise.all([
      this.#groups(),
      client.call('getFairness', { query: { limit: PAGE_SIZE } }, call),
      client.call('getCongestion', {}, call),
      this.#batches(),
      this.#operations(),
      this.#chat.look(),
    ]);
    this.#ledger.add(fairness.tenants);
    const [latest] = batches;
    const params = latest && { batchId: latest.id };
    const newest = params && (await client.call('getBatch', { params }, call));
    const deadLetters = await this.#deadLetters.of(groups, signal);
    const whale = groups.find(({ id }) => id === demo.groupId);
    return {
      run: demo.run,
      url,
      elapsedMs: this.#elapsedMs(),
      lengthMs: Date.parse(demo.endsAt) - Date.parse(demo.startedAt),
      isOver:
        (!whale || hasEnded(whale)) &&
        groups.every(hasEnded) &&
        batches.every(({ status }) => status !== 'RUNNING') &&
        operations.every(({ endedAt }) => endedAt !== null),
      tenants: tenantFacts(groups, this.#ledger),
      service: serviceFacts(congestion, groups),
      batches: batchFacts(batches, newest),
      operations: operationFacts(operations),
      deadLetters,
      chat: this.#chat.facts,
    };
  }

  /** Ends when nothing is being streamed any more. */
  async settled(): Promise<void> {
    await this.#chat.settled();
  }

  #elapsedMs(): number {
    return this.#watched.clock.monotonicMs() - this.#begin;
  }

  /** The whale's is the first of a demo; whatever demo tenants have brought since belongs to it. */
  async #groups() {
    const { client, demo, signal } = this.#watched;
    const groups = await listed(
      (cursor) => client.call('listGroups', { query: { limit: PAGE_SIZE, cursor } }, { signal }),
      ({ id }) => id === demo.groupId,
    );
    return groups.filter(({ tenant }) => DEMO_TENANTS.includes(tenant));
  }

  async #batches() {
    const { client, demo, signal } = this.#watched;
    const query = { tenant: BOOKS, limit: PAGE_SIZE };
    const batches = await listed(
      (cursor) => client.call('listBatches', { query: { ...query, cursor } }, { signal }),
      ({ createdAt }) => this.#isBefore(createdAt),
    );
    return batches.filter(({ bizKey }) => bizKey.startsWith(`${demo.run}-`));
  }

  async #operations() {
    const { client, demo, signal } = this.#watched;
    const query = { domain: 'DEMO', limit: PAGE_SIZE };
    const operations = await listed(
      (cursor) => client.call('listOperations', { query: { ...query, cursor } }, { signal }),
      ({ acceptedAt }) => this.#isBefore(acceptedAt),
    );
    return operations.filter(({ bizKey }) => bizKey.startsWith(`${demo.run}-`));
  }

  #isBefore(time: string): boolean {
    return Date.parse(time) < Date.parse(this.#watched.demo.startedAt) - CLOCKS_APART_MS;
  }
}

interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | null;
}

/** The newest of a list, up to and with the first that is said to be the last. */
async function listed<T>(
  page: (cursor: string | undefined) => Promise<Page<T>>,
  isLast: (item: T) => boolean,
): Promise<readonly T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < PAGES_MAX; count++) {
    const { items: more, cursor: next } = await page(cursor);
    const last = more.findIndex(isLast);
    if (last >= 0) return [...items, ...more.slice(0, last + 1)];
    items.push(...more);
    if (next === null) break;
    cursor = next;
  }
  return items;
}
