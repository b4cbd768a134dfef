import type { Role } from '@millrace/contract';

/** Who sent a request, as far as its key says. */
export interface Caller {
  /** Of the key; what the audit log calls the caller. */
  readonly name: string;
  readonly role: Role;
  /** The one tenant that the key is limited to; undefined: all of them. */
  readonly tenant: string | undefined;
}

/** Everybody, where there are no keys: such a server listens to its own machine only. */
export const LOCAL_CALLER: Caller = Object.freeze({ name: 'local', role: 'admin', tenant: undefined });

/** Who needs no key. */
export const ANYBODY: Caller = Object.freeze({ name: 'anybody', role: 'none', tenant: undefined });
