import {
  integerOption,
  type OptionRule,
  oneOfOption,
  resolveOptions,
  textOption,
} from '@millrace/foundation';
import type { DeadLetter, DeadLetterSignature, Page } from './model.js';
import { type PageRequest, resolvePage } from './page-request.js';
import type { BulkStore, DeadLetterFilter, DeadLetterStore } from './ports.js';
import { optionInvalid } from './refusals.js';
import { checkId, checkTenant, parseGroupRef } from './rules/ids.js';

/** Which dead letters to look at; nothing given: all. */
export interface DeadLetterQuery {
  /** Plain, or `tenant/id`. */
  readonly groupId?: string | undefined;
  /** Of the group given. */
  readonly jobId?: string | undefined;
  readonly signature?: string | undefined;
  /** The namespace. */
  readonly tenant?: string | undefined;
}

/** Which dead letters to move: those of a job, a group or a signature, or with `all: true` every one (of a tenant). */
export interface DeadLetterSelection extends DeadLetterQuery {
  readonly all?: true | undefined;
}

/** How many are moved. */
export interface MoveOptions {
  /** At most so many; all that are selected without it. */
  readonly max?: number | undefined;
}

/** How many a store moves in one step. */
const STEP = 500;
/** Of how many causes a store tells. */
const CAUSES_MAX = 1000;

const anyId: OptionRule = { expected: 'an id', accepts: () => true };
const QUERY_RULES = {
  groupId: anyId,
  jobId: anyId,
  tenant: anyId,
  signature: textOption({ min: 1, max: 10_000 }),
};
const SELECTION_RULES = { ...QUERY_RULES, all: oneOfOption(true) };
const MOVE_RULES = { max: integerOption({ min: 0 }) };

/** Jobs that failed for good after all their tries: looks at them, sends them back, throws them away. */
export class DeadLetterService {
  readonly #store: Pick<BulkStore, 'deadLetters' | 'views'>;

  /** @param dependencies - the store. */
  constructor({ store }: { readonly store: Pick<BulkStore, 'deadLetters' | 'views'> }) {
    this.#store = store;
  }

  /**
   * Dead letters, the newest first.
   * @param query - which.
   * @param page - cursor and limit.
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async list(query: DeadLetterQuery = {}, page: PageRequest = {}): Promise<Page<DeadLetter>> {
    const filter = filterOf('list', query);
    const { limit, cursor } = resolvePage('list', page);
    return this.#store.deadLetters.list(filter, limit, cursor);
  }

  /**
   * Dead letters by cause, the most frequent first.
   * @param query - of a namespace or a group; all without one.
   * @param options - `limit`: at most so many causes, 1 to 1000 (100).
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async signatures(
    query: Pick<DeadLetterQuery, 'groupId' | 'tenant'> = {},
    options: Pick<PageRequest, 'limit'> = {},
  ): Promise<readonly DeadLetterSignature[]> {
    const { key, tenant } = filterOf('signatures', query);
    return this.#store.deadLetters.signatures({ key, tenant }, resolvePage('signatures', options).limit);
  }

  /**
   * How many a selection has now.
   * @param selection - one job, a group, a signature, or `all: true`.
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async count(selection: DeadLetterSelection): Promise<number> {
    const { key, jobId, signature, tenant } = selectedBy('count', selection);
    if (jobId === undefined) {
      const causes = await this.#store.deadLetters.signatures({ key, tenant }, CAUSES_MAX);
      // There may be more than were told of.
      if (causes.length < CAUSES_MAX)
        return causes
          .filter((cause) => signature === undefined || cause.signature === signature)
          .reduce((total, cause) => total + cause.count, 0);
    }
    return this.#countOneByOne({ key, jobId, signature, tenant });
  }

  /**
   * Sends jobs back into their lanes with fresh retries; a group that has ended opens its next round. Deadlines stay as they were: a job whose own or
   * whose group's has passed fails at once as `DEADLINE_EXCEEDED`, and its letter is gone.
   * @param selection - one job, a group, a signature, or `all: true`.
   * @param options - `max`: at most so many.
   * @returns how many went back.
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async redrive(selection: DeadLetterSelection, options: MoveOptions = {}): Promise<number> {
    const filter = selectedBy('redrive', selection);
    return this.#inSteps(maxOf('redrive', options), (max) => this.#store.deadLetters.redrive(filter, max));
  }

  /**
   * Throws dead letters away; their jobs stay failed.
   * @param selection - one job, a group, a signature, or `all: true`.
   * @param options - `max`: at most so many.
   * @returns how many are gone.
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  async purge(selection: DeadLetterSelection, options: MoveOptions = {}): Promise<number> {
    const filter = selectedBy('purge', selection);
    return this.#inSteps(maxOf('purge', options), (max) => this.#store.deadLetters.purge(filter, max));
  }

  async #countOneByOne(filter: DeadLetterFilter): Promise<number> {
    let count = 0;
    let cursor: string | undefined;
    do {
      const page = await this.#store.deadLetters.list(filter, STEP, cursor);
      count += page.items.length;
      cursor = page.cursor;
    } while (cursor !== undefined);
    return count;
  }

  async #inSteps(
    most: number,
    step: (max: number) => ReturnType<DeadLetterStore['redrive']>,
  ): Promise<number> {
    // Jobs sent back may die again at once: without this bound the call would chase them for ever.
    let left = Math.min(most, (await this.#store.views.queues()).deadLetters);
    let moved = 0;
    while (left > 0) {
      const answer = await step(Math.min(STEP, left));
      moved += answer.moved;
      left -= answer.moved;
      if (!answer.more || answer.moved === 0) break;
    }
    return moved;
  }
}

function filterOf(owner: string, query: DeadLetterQuery, rules: object = QUERY_RULES): DeadLetterFilter {
  const given = resolveOptions<DeadLetterQuery>({ owner, defaults: {}, rules } as never, query as never);
  const { groupId, jobId, signature, tenant } = given;
  if (jobId !== undefined && groupId === undefined)
    throw optionInvalid(owner, 'jobId', 'given with its groupId', jobId);
  return {
    ...(groupId !== undefined && { key: parseGroupRef(groupId).key }),
    ...(jobId !== undefined && { jobId: checkId('jobId', jobId) }),
    ...(signature !== undefined && { signature }),
    ...(tenant !== undefined && { tenant: checkTenant(tenant) }),
  };
}

const maxOf = (owner: string, options: MoveOptions): number =>
  resolveOptions<{ max: number }>(
    { owner, defaults: { max: Number.MAX_SAFE_INTEGER }, rules: MOVE_RULES },
    options as never,
  ).max;

/** A selection whose values happen to be undefined must not mean "all". */
function selectedBy(owner: string, selection: DeadLetterSelection): DeadLetterFilter {
  const filter = filterOf(owner, selection, SELECTION_RULES);
  const narrow = filter.key !== undefined || filter.signature !== undefined;
  if (narrow === (selection?.all === true)) {
    const expected = 'one of { groupId }, { groupId, jobId }, { signature } or { all: true }';
    throw optionInvalid(owner, 'the selection', expected, selection);
  }
  return filter;
}
