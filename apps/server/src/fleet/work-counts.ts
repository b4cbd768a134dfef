import { type Histogram, newHistogram, recordDuration } from '@millrace/bulk-action';
import { BulkActionEngine } from '@millrace/bulk-action/nestjs';
import { OrchestratorService } from '@millrace/orchestrator/nestjs';
import { Outbox } from '@millrace/outbox';
import { Inject, Injectable } from '@nestjs/common';

/** Numbers by name: of a counter (`jobs.done`), or of a bucket of a histogram (`wait:17`). */
export type Counts = Readonly<Record<string, number>>;

/** Counts what this process does. */
@Injectable()
export class WorkCounts {
  readonly #engine: BulkActionEngine;
  readonly #counted: Record<string, number> = {};
  readonly #latency: Histogram = newHistogram();

  constructor(
    @Inject(BulkActionEngine) engine: BulkActionEngine,
    @Inject(Outbox) outbox: Outbox,
    @Inject(OrchestratorService) orchestrator: OrchestratorService,
  ) {
    this.#engine = engine;
    outbox.events.on('task', ({ result }) => this.#count(`tasks.${result}`));
    outbox.events.on('batch', ({ status }) => this.#count(`batches.${status.toLowerCase()}`));
    const { events } = orchestrator;
    events.on('submitted', () => this.#count('operations.submitted'));
    for (const name of ['fast', 'converted'] as const)
      events.on(name, ({ elapsedMs }) => {
        this.#count(`operations.${name}`);
        recordDuration(this.#latency, elapsedMs);
      });
    events.on('ended', ({ operation }) => {
      this.#count('operations.ended');
      if (operation.state === 'FAILED') this.#count('operations.failed');
    });
  }

  /** Everything since this process started; a name that is not in it is 0. */
  read(): Counts {
    const { counters, histograms } = this.#engine.pool;
    return {
      ...this.#counted,
      'jobs.done': counters.success,
      'jobs.failed': counters.failed,
      'jobs.retried': counters.retries,
      'jobs.timedOut': counters.timeouts,
      'jobs.deadLetters': counters.deadLetters,
      ...bucketCounts('wait', histograms.waits),
      ...bucketCounts('run', histograms.durations),
      ...bucketCounts('latency', this.#latency),
    };
  }

  #count(name: string): void {
    this.#counted[name] = (this.#counted[name] ?? 0) + 1;
  }
}

const bucketCounts = (name: string, { buckets }: Readonly<Histogram>): Counts =>
  Object.fromEntries(buckets.map((count, bucket) => [`${name}:${bucket}`, count]));
