import type { Load } from './jobs.js';

/** Hands jobs in. */
interface Producer {
  /** All of them, in the batches that suit this contender best. */
  submit(load: Load): Promise<void>;
  submitOne(index: number): Promise<unknown>;
  close(): Promise<void>;
}

/** Runs no-op jobs in this process. */
interface Consumer {
  /** Begins to take jobs; everything that can be connected before has been. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What a consumer is told. */
interface ConsumerOptions {
  readonly concurrency: number;
  /** Called by the handler of each job. */
  onJob(): void;
}

/** A job queue on Redis, ours or a peer's. */
export interface Contender {
  readonly name: string;
  /** Empties where its jobs are; the Redis of the run unless given. */
  flush?(): Promise<void>;
  openProducer(): Promise<Producer>;
  openConsumer(options: ConsumerOptions): Promise<Consumer>;
}
