/** Where the operations are kept. */
export type StoreBrief =
  | { readonly kind: 'memory' }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'pglite'; readonly dataDir: string };

/** What a server process is: the orchestrator, or a Fastify with one route that does nothing. */
export type ServerBrief =
  | { readonly serves: 'nothing' }
  | { readonly serves: 'orchestrator'; readonly store: StoreBrief };

/** What a server process says when it listens. */
export interface ServerReady {
  readonly port: number;
}

/** What a server process has used since it was started. */
export interface ServerUsage {
  /** All threads together. */
  readonly cpuMs: number;
  /** The most memory it ever had. */
  readonly peakRssMb: number;
}

/** Servers of a benchmark are nobody else's business. */
export const HOST = '127.0.0.1';
/** Where commands go, on every server. */
export const OPERATIONS_PATH = '/api/operations';
/** The same framework as the orchestrator's, and nothing to do. */
export const NOTHING_PATH = '/nothing';
