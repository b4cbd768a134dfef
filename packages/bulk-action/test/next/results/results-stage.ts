import type { Redrive, RedriveAnswer } from '../../../src/next/engine/groups/redrive.js';
import type { AttemptOutcome, Settlement } from '../../../src/next/engine/run/settle.js';
import type { Aggregate } from '../../../src/next/engine/state/message.js';
import { AGGREGATION_POSITION } from '../../../src/next/engine/state/position.js';
import { type Held, Stage } from '../groups/stage.js';

export const SUCCESS: AttemptOutcome = { kind: 'success' };
export const DEAD: Extract<AttemptOutcome, { kind: 'failure' }> = {
  kind: 'failure',
  code: 'E_DOWN',
  message: 'Service 17 is down',
  isDead: true,
};

/** A stage on which attempts end as a test says. */
export class ResultsStage extends Stage {
  get side() {
    return this.store.side;
  }

  /** Settles a job and commits. Returns whether it counted. */
  end(
    held: Held,
    outcome: AttemptOutcome = SUCCESS,
    more: Partial<Pick<Settlement, 'durationMs' | 'aggregator' | 'isPrivate'>> = {},
  ): boolean {
    const { instanceId, groupId, position, attempt } = held;
    this.held = this.held.filter((job) => job !== held);
    const settlement = { groupId, position, attempt, durationMs: 10, outcome, ...more };
    const counted = this.engine.settle(instanceId, settlement, this.nowUs);
    this.run();
    return counted;
  }

  /** Ends the oldest job that is held. */
  endNext(outcome?: AttemptOutcome, more?: Parameters<ResultsStage['end']>[2]): boolean {
    return this.end(this.held[0] as Held, outcome, more);
  }

  /** Redrives letters as a service does: all, unless a filter says which. */
  redrive(options: Omit<Redrive, 'letters'> & { readonly letters?: Redrive['letters'] } = {}): RedriveAnswer {
    const answer = this.engine.redrive({ letters: this.store.letters(), ...options }, this.nowUs);
    this.run();
    return answer;
  }

  /** Returns the aggregations that an instance was sent. */
  aggregations(instanceId: string): Aggregate[] {
    return (this.mail.get(instanceId) ?? []).filter((message) => message.kind === 'aggregate');
  }

  /** Settles the last aggregation of an instance. */
  endAggregation(instanceId: string, outcome: AttemptOutcome): boolean {
    const { groupId, attempt } = this.aggregations(instanceId).at(-1) as Aggregate;
    const settlement = { groupId, position: AGGREGATION_POSITION, attempt, durationMs: 5, outcome };
    const counted = this.engine.settle(instanceId, settlement, this.nowUs);
    this.run();
    return counted;
  }

  events(type: string): unknown[] {
    return this.store.events.filter((event) => event.type === type);
  }
}
