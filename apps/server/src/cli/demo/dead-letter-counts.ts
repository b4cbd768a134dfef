import { ProblemError, type ResponseOf, type ServerClient } from '@millrace/contract/server-client';
import type { DeadLetterFacts } from './facts.js';

type Group = Pick<ResponseOf<'getGroup'>, 'id' | 'progress'>;
type Causes = NonNullable<ResponseOf<'listDeadLetters'>['signatures']>;

interface Counted {
  readonly failed: number;
  readonly causes: Causes;
}

/** Counts the dead letters of some groups by cause. A server counts those of one group or of all: others may have some too. */
export class DeadLetterCounts {
  readonly #client: ServerClient;
  readonly #counted = new Map<string, Counted>();

  constructor(client: ServerClient) {
    this.#client = client;
  }

  /**
   * Asks about those groups of which more jobs have failed since they were last asked about.
   * @throws ProblemError and what `fetch` throws.
   */
  async of(groups: readonly Group[], signal: AbortSignal): Promise<DeadLetterFacts> {
    const changed = groups.filter(
      ({ id, progress }) => progress.failed !== (this.#counted.get(id)?.failed ?? 0),
    );
    for (const { id, progress } of changed) {
      const causes = await this.#causesOf(id, signal);
      this.#counted.set(id, { failed: progress.failed, causes });
    }
    const counts = new Map<string, number>();
    for (const { causes } of this.#counted.values())
      for (const { signature, count } of causes) counts.set(signature, (counts.get(signature) ?? 0) + count);
    const causes = [...counts].map(([signature, count]) => ({ signature, count }));
    return {
      count: causes.reduce((sum, { count }) => sum + count, 0),
      causes: causes.sort((a, b) => b.count - a.count || (a.signature < b.signature ? -1 : 1)),
    };
  }

  async #causesOf(groupId: string, signal: AbortSignal): Promise<Causes> {
    try {
      const query = { groupId, groupBy: 'signature' } as const;
      const { signatures = [] } = await this.#client.call('listDeadLetters', { query }, { signal });
      return signatures;
    } catch (error) {
      // It ended, and was cleared away, since it was listed.
      if (error instanceof ProblemError && error.status === 404) return [];
      throw error;
    }
  }
}
