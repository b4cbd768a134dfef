import type { LeaseRef, ReserveAnswer } from '../../src/lease.js';
import type { GroupPatch, Page } from '../../src/model.js';
import type { GroupDefinition, NewJob } from '../../src/ports.js';
import type { ExplainFacts, ScopeFacts } from '../../src/rules/explain.js';
import type { BulkShard, GroupHome } from '../../src/shard-port.js';
import type { StoreHarness } from '../store-contract/tools.js';
import type { Command, LeaseName, ListCommand } from './commands.js';

/** No store has given this token. */
const UNKNOWN_TOKEN = 4_000_000_000_000;
const PAGES_MAX = 200;

/** An open list: where it goes on, and what was in it when it was opened. */
interface OpenList {
  readonly list: ListCommand;
  readonly cursor: string | undefined;
  readonly names: ReadonlySet<string>;
}

/**
 * One store under comparison: performs commands, and answers so that two stores of equal behaviour answer the same.
 * Tokens become the number of the lease among those of its job; cursors never leave; what the ports leave open is
 * left out.
 */
export class Side {
  /** The tokens of each job, in the order they were first seen. */
  readonly #tokens = new Map<string, number[]>();
  #open: OpenList | undefined;
  #zero = 0;

  constructor(readonly harness: StoreHarness<BulkShard>) {}

  /** The store's time. */
  now(): Promise<number> {
    return this.harness.now();
  }

  /** From here on moments are counted. */
  async begin(): Promise<void> {
    this.#zero = await this.harness.now();
  }

  /** Does what the command says and gives the answer in its comparable form. */
  async perform(command: Command): Promise<unknown> {
    const { store } = this.harness;
    switch (command.kind) {
      case 'create':
        return store.groups.create(this.#definition(command.definition));
      case 'add': {
        const jobs = command.jobs.map((job) => this.#job(job));
        return store.groups.add(this.#definition(command.definition), jobs, command.incoming);
      }
      case 'seal':
        return store.groups.seal(command.key, command.total);
      case 'cancel':
      case 'pause':
      case 'resume':
      case 'forgetSlowness':
        return store.groups[command.kind](command.key);
      case 'update':
        return store.groups.update(command.key, this.#patch(command.patch, command.asDate));
      case 'updateTenant':
        return store.groups.updateTenant(command.tenantId, command.patch);
      case 'heartbeat':
        return store.instances.heartbeat(command.instance);
      case 'leave':
        return store.instances.leave(command.instanceId);
      case 'instances':
        return [...(await store.instances.list())].sort((a, b) => (a.id < b.id ? -1 : 1));
      case 'begin':
        return store.once.begin(command.key, command.token, command.ms);
      case 'renewOnce':
        return store.once.renew(command.key, command.token, command.ms);
      case 'finish':
        return store.once.finish(command.key, command.token, command.result, command.ms);
      case 'release':
        return store.once.release(command.key, command.token);
      case 'advance':
        return this.harness.advance(command.ms);
      default:
        return this.#move(command);
    }
  }

  async #move(command: Exclude<Command, { kind: 'advance' }>): Promise<unknown> {
    const { gate, leases, upkeep, watch, deadLetters } = this.harness.store;
    switch (command.kind) {
      case 'fetch':
        return gate.fetch(command.max);
      case 'dispatch':
        return gate.dispatch(command.max);
      case 'sweep':
        return upkeep.sweep(command.max);
      case 'watch':
        return watch.look(command.max);
      case 'reconcile':
        return this.#reconcileAll(command.max);
      case 'admit':
        return gate.admit(command.key, command.jobId);
      case 'checkRate':
        return gate.checkRate(command.key, command.cost);
      case 'reserve':
        return this.#named(await leases.reserve(command));
      case 'renew':
        return leases.renew(command.leases.map((lease) => this.#lease(lease)));
      case 'giveBack':
        return leases.giveBack(command.leases.map((lease) => this.#lease(lease)));
      case 'settle':
        return leases.settle(
          command.settlements.map((one) => ({
            ...this.#lease(one),
            durationMs: one.durationMs,
            outcome: one.outcome,
          })),
        );
      case 'giveBackAll':
        return leases.giveBackAll(command.instanceId, command.max);
      case 'recover':
        return leases.recover(command.randoms);
      case 'redrive':
      case 'purge':
        return deadLetters[command.kind](command.filter, command.max);
      default:
        return this.#aggregate(command);
    }
  }

  async #aggregate(command: Command): Promise<unknown> {
    const { aggregations } = this.harness.store;
    switch (command.kind) {
      case 'claim':
        return aggregations.claim(command.token, command.ms, command.types);
      case 'claimGroup':
        return aggregations.claimGroup(command.key, command.token, command.ms);
      case 'renewAggregation':
        return aggregations.renew(command.key, command.round, command.token, command.ms);
      case 'finishAggregation':
        return aggregations.finish(command.key, command.round, command.token, command.data);
      case 'failAggregation':
        return aggregations.fail(command.key, command.round, command.token, command.message);
      default:
        return this.#atHome(command);
    }
  }

  async #atHome(command: Command): Promise<unknown> {
    const { shard } = this.harness.store;
    switch (command.kind) {
      case 'createHere':
        return shard.create(command.definition);
      case 'addHere':
        return shard.add(command.definition, command.jobs, command.incoming);
      case 'claimHome':
        return comparableHome(await shard.claim(command.key, command.shard));
      case 'locate':
        return comparableHome(await shard.locate(command.key));
      case 'claims':
        return (await shard.claims(command.ageMs, command.max)).map(comparableHome);
      case 'checkHome': {
        const home = await shard.locate(command.key);
        const claimedMs = typeof home === 'object' ? home.claimedMs - (command.stale ? 1 : 0) : 1;
        return shard.check(command.key, claimedMs, command.found);
      }
      default:
        return this.#look(command);
    }
  }

  async #look(command: Command): Promise<unknown> {
    const { views, deadLetters } = this.harness.store;
    switch (command.kind) {
      case 'group':
        return views.group(command.key);
      case 'result':
        return views.result(command.key, command.round);
      case 'job':
        return views.job(command.key, command.jobId);
      case 'explain':
        return comparableFacts(await views.explain(command.key, command.jobId));
      case 'tenant':
        return views.tenant(command.tenantId);
      case 'fairness':
        return views.fairness(command.limit);
      case 'queues':
        return views.queues();
      case 'resources':
        return views.resources();
      case 'slowness':
        return views.slowness(command.key);
      case 'signatures':
        return deadLetters.signatures(command.filter, command.limit);
      case 'groups':
      case 'jobs':
      case 'results':
      case 'dead letters':
        return this.#rest(command, undefined);
      case 'first page':
        return this.#openList(command.list);
      case 'other pages':
        return this.#closeList();
      default:
        throw new Error(`expected a command, got ${command.kind}`);
    }
  }

  /** Nothing is ever wrong: what a step leaves behind is what it counts. */
  async #reconcileAll(max: number): Promise<number> {
    const { watch } = this.harness.store;
    let total = 0;
    let cursor: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const answer = await watch.reconcile(max, cursor);
      if (answer.repaired > 0) throw new Error(`expected nothing to repair, got ${answer.repaired}`);
      total += answer.looked;
      cursor = answer.cursor;
      if (cursor === undefined) return total;
    }
    throw new Error(`expected the reconciliation to end within ${PAGES_MAX} pages`);
  }

  async #page(list: ListCommand, cursor: string | undefined): Promise<Page<unknown>> {
    const { views, aggregations, deadLetters } = this.harness.store;
    switch (list.kind) {
      case 'groups':
        return views.groups(list.filter, list.limit, cursor);
      case 'jobs':
        return views.jobs(list.key, { state: list.state }, list.limit, cursor);
      case 'results':
        return aggregations.page(list.key, list.limit, cursor);
      case 'dead letters':
        return deadLetters.list(list.filter, list.limit, cursor);
    }
  }

  /** All items from the cursor on: a store may give short pages, and an empty last one. */
  async #rest(list: ListCommand, from: string | undefined): Promise<unknown[]> {
    const items: unknown[] = [];
    let cursor = from;
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const page = await this.#page(list, cursor);
      if (page.items.length > list.limit) throw new Error(`expected ${list.limit} items at most in a page`);
      items.push(...page.items);
      cursor = page.cursor;
      if (cursor === undefined) return items;
    }
    throw new Error(`expected the list to end within ${PAGES_MAX} pages`);
  }

  async #openList(list: ListCommand): Promise<unknown> {
    const all = await this.#rest({ ...list, limit: 1000 }, undefined);
    const { items, cursor } = await this.#page(list, undefined);
    this.#open = { list, cursor, names: new Set(all.map(nameOf)) };
    return items;
  }

  /** What has come since the list was opened may be in the rest or not, as a store likes. */
  async #closeList(): Promise<unknown> {
    if (!this.#open) return 'no list is open';
    const { list, cursor, names } = this.#open;
    this.#open = undefined;
    const items = cursor === undefined ? [] : await this.#rest(list, cursor);
    return items.filter((item) => names.has(nameOf(item)));
  }

  #named(answer: ReserveAnswer): unknown {
    return {
      ...answer,
      jobs: answer.jobs.map(({ token, ...job }) => ({ ...job, nth: this.#numberOf(job, token) })),
    };
  }

  #numberOf({ key, jobId }: Pick<LeaseRef, 'key' | 'jobId'>, token: number): number {
    const name = `${key}/${jobId}`;
    const tokens = this.#tokens.get(name) ?? [];
    this.#tokens.set(name, tokens);
    const known = tokens.indexOf(token);
    return known < 0 ? tokens.push(token) : known + 1;
  }

  #lease({ key, jobId, nth }: LeaseName): LeaseRef {
    return { key, jobId, token: this.#tokens.get(`${key}/${jobId}`)?.[nth - 1] ?? UNKNOWN_TOKEN };
  }

  #definition(definition: GroupDefinition): GroupDefinition {
    const { deadline } = definition;
    return { ...definition, ...(deadline !== undefined && { deadline: this.#zero + deadline }) };
  }

  #job(job: NewJob): NewJob {
    const { notBefore, deadline } = job;
    return {
      ...job,
      ...(notBefore !== undefined && { notBefore: this.#zero + notBefore }),
      ...(deadline !== undefined && { deadline: this.#zero + deadline }),
    };
  }

  #patch(patch: GroupPatch, asDate: true | undefined): GroupPatch {
    const { deadline } = patch;
    if (typeof deadline !== 'number') return patch;
    const at = this.#zero + deadline;
    return { ...patch, deadline: asDate ? new Date(at) : at };
  }
}

/** When it was claimed is the store's own time: how long ago that is can be compared. */
function comparableHome(home: GroupHome | undefined): unknown {
  if (typeof home !== 'object') return home;
  const { claimedMs: _, ...rest } = home;
  return rest;
}

/** Groups and jobs by their id, dead letters by their job's. */
function nameOf(item: unknown): string {
  const { id, groupId, job } = item as { id?: string; groupId?: string; job?: unknown };
  return job === undefined ? `${groupId ?? ''} ${id}` : nameOf(job);
}

/** A bucket that is full is full, however long it has been; a due time is one of a job that waits for it. */
function comparableFacts(facts: ExplainFacts | undefined): unknown {
  if (!facts) return undefined;
  const { dueInMs, ...rest } = facts;
  const scope = <T extends { readonly bucket?: ScopeFacts['bucket'] }>(given: T) => ({
    ...given,
    ...(given.bucket && {
      bucket: { ...given.bucket, tatUs: Math.max(facts.nowUs, given.bucket.tatUs) },
    }),
  });
  return {
    ...rest,
    group: { ...scope(facts.group), ...(facts.group.slow && { slow: scope(facts.group.slow) }) },
    tenant: scope(facts.tenant),
    global: scope(facts.global),
    ...(facts.job.place === 'NON_READY' && { dueInMs }),
  };
}
