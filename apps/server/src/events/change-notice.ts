import { z } from 'zod';
import type { Change, ChangeSet } from './change-set.js';

/** What one process tells the others, at a time. */
export const NOTICE_CHANGES_MAX = 100;
/** PostgreSQL carries 8,000 bytes. */
export const NOTICE_BYTES_MAX = 7_000;

/** What another process has told. */
export interface Notice {
  /** The instance. */
  readonly from: string;
  readonly changes: readonly Change[];
  readonly more: boolean;
}

const KINDS = ['batches', 'operations'] as const;
const ids = z.array(z.string());
/** Instance, whether there was more, and by tenant the ids of batches and operations. */
const Wire = z.tuple([z.string(), z.boolean(), z.array(z.tuple([z.string(), ids, ids]))]);

/**
 * Writes what has changed as a text that NOTIFY can carry; what does not fit is only said to be.
 * @param changed - batches and operations. Groups are left out: their store tells all instances itself.
 */
export function writeNotice(from: string, changed: ChangeSet): string {
  const all = KINDS.flatMap((kind) => changed.of(kind));
  let fitting = all.slice(0, NOTICE_CHANGES_MAX);
  for (;;) {
    const more = changed.more || fitting.length < all.length;
    const text = JSON.stringify([from, more, byTenant(fitting)] satisfies z.infer<typeof Wire>);
    if (Buffer.byteLength(text) <= NOTICE_BYTES_MAX) return text;
    fitting = fitting.slice(0, Math.floor(fitting.length / 2));
  }
}

/**
 * Reads what another process has told.
 * @param text - by NOTIFY: anybody who may use the database can send one.
 * @returns undefined for what is no notice.
 */
export function readNotice(text: string): Notice | undefined {
  let told: unknown;
  try {
    told = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { data } = Wire.safeParse(told);
  if (!data) return undefined;
  const [from, more, tenants] = data;
  const changes = tenants.flatMap(([tenant, ...lists]) =>
    KINDS.flatMap((kind, index) => (lists[index] ?? []).map((id) => ({ kind, tenant, id }))),
  );
  return { from, more, changes };
}

function byTenant(changes: readonly Change[]): [string, string[], string[]][] {
  const tenants = new Map<string, [string, string[], string[]]>();
  for (const { kind, tenant, id } of changes) {
    const lists = tenants.get(tenant) ?? [tenant, [], []];
    tenants.set(tenant, lists);
    lists[kind === 'batches' ? 1 : 2].push(id);
  }
  return [...tenants.values()];
}
