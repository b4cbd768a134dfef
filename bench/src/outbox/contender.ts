/** Hands tasks in. */
interface Producer {
  /** So many, in the batches that suit this contender best. */
  insert(tasks: number): Promise<void>;
  close(): Promise<void>;
}

/** Runs tasks in this process. */
interface Worker {
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What a worker is told. */
export interface WorkerOptions {
  readonly concurrency: number;
  /** Whether the handler writes a row to the user's own table, or does nothing. */
  readonly effect: boolean;
  /** Called by the handler of each task when it has done its work. */
  onTask(): void;
}

/** A task queue on PostgreSQL, ours or a peer's. */
export interface Contender {
  readonly name: string;
  /** Makes its tables, or empties them: nobody pays for what another one left behind. */
  empty(): Promise<void>;
  /** A statement that answers `{ open: false }` when everything handed in is done and acknowledged. */
  readonly anyOpen: string;
  openProducer(): Promise<Producer>;
  openWorker(options: WorkerOptions): Promise<Worker>;
}
