import type { Clock } from '@millrace/foundation';

/** Finds the addresses of a host. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Variables by name, such as `process.env`; an empty one counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What the shipped processors need from outside. */
export interface ProcessorDependencies {
  /** Where settings that are not given in code are read (`process.env`). */
  readonly env?: Environment | undefined;
  readonly clock?: Clock | undefined;
  /** Finds the addresses of hosts (as the operating system does). What it answers is checked before it is used. */
  readonly resolve?: ResolveHost | undefined;
}
