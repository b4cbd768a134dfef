import type { GroupView } from '@millrace/bulk-action';
import { type LedgerEntry, readLedger } from '@millrace/testkit/ledger';
import { Redis } from 'ioredis';
import type { StoredKey } from '../bulk/evidence.js';
import { KEY_PREFIX } from '../bulk/settings.js';
import { asking } from '../postgres.js';
import type { HandedIn, RollingCallers } from './callers.js';
import { ADDED_KEY } from './release.js';
import type { RollingWorld } from './world.js';

/** A task that writes rows, with what the next release keeps of it. */
export interface StoredRow {
  readonly batch: string;
  readonly task: string;
  readonly status: string;
  /** Releases that have written its row: one, if all is well. */
  readonly releases: readonly string[];
  readonly nextCount: number;
  readonly nextNote: string | null;
}

/** What the engine's state is called among the records. */
export const ENGINE = 'the engine';

/** How often the new release has written a record, by its own count beside it and as the record says. */
interface AddedField {
  readonly record: string;
  readonly counted: number;
  readonly kept: number | undefined;
}

/** What the stores show and what the ledger says, when all is over. */
export interface RollingEvidence {
  readonly handedIn: readonly HandedIn[];
  readonly groups: readonly GroupView[];
  readonly rows: readonly StoredRow[];
  readonly batches: ReadonlyMap<string, string>;
  readonly added: readonly AddedField[];
  readonly keys: readonly StoredKey[];
  readonly ledger: readonly LedgerEntry[];
}

const ROWS = `
  SELECT b.biz_key AS batch, t.task_key AS task, t.status::text AS status, t.next_count AS "nextCount", b.next_note AS "nextNote",
    array(SELECT e.release FROM public.effect e WHERE e.biz_key = b.biz_key AND e.task_key = t.task_key) AS releases
  FROM millrace.outbox_evt t JOIN millrace.batch_instance b ON b.id = t.batch_id
  WHERE t.mode = 'transactional'`;

const BATCHES = 'SELECT biz_key, status::text FROM millrace.batch_instance';

/** Looks at everything. */
export async function gatherRollingEvidence(
  world: RollingWorld,
  callers: RollingCallers,
): Promise<RollingEvidence> {
  const { handedIn, engine } = callers;
  const groups = await Promise.all(handedIn.map(({ group }) => engine.service.getGroup(group)));
  const [rows, batches] = await asking(world.postgres.url, async (client) => [
    (await client.query<StoredRow>(ROWS)).rows,
    (await client.query<{ biz_key: string; status: string }>(BATCHES)).rows,
  ]);
  const redis = new Redis(world.redis.url, { protocol: 2 });
  try {
    return {
      handedIn,
      groups,
      rows,
      batches: new Map(batches.map(({ biz_key, status }) => [biz_key, status])),
      added: await addedFields(redis),
      keys: await allKeys(redis),
      ledger: readLedger(world.ledgerPath),
    };
  } finally {
    redis.disconnect();
  }
}

const BASE = `${KEY_PREFIX}{0}:`;
const FIELD = 'nextSaves';

async function addedFields(redis: Redis): Promise<AddedField[]> {
  const counts = await redis.hgetall(`${BASE}${ADDED_KEY.name}`);
  const fields: AddedField[] = [];
  for (const [key, counted] of Object.entries(counts)) {
    const value =
      key === '' ? await redis.getBuffer(`${BASE}state`) : await redis.hgetBuffer(`${BASE}gr`, key);
    const kept = value ? addedNumber(value, FIELD) : undefined;
    fields.push({ record: key === '' ? ENGINE : key, counted: Number(counted), kept });
  }
  return fields;
}

/**
 * Reads a number from a packed record by its name.
 * @returns undefined if the record has no such number.
 */
export function addedNumber(value: Buffer, name: string): number | undefined {
  const found = value.indexOf(name, 0, 'latin1');
  if (found < 0) return undefined;
  const at = found + name.length;
  const kind = value[at];
  if (kind === undefined) return undefined;
  if (kind < 0x80) return kind;
  if (kind === 0xcc) return value.readUInt8(at + 1);
  if (kind === 0xcd) return value.readUInt16BE(at + 1);
  return kind === 0xce ? value.readUInt32BE(at + 1) : undefined;
}

async function allKeys(redis: Redis): Promise<StoredKey[]> {
  const keys = new Set<string>();
  for await (const found of redis.scanStream({ count: 1000 })) for (const key of found) keys.add(key);
  return Promise.all([...keys].map(async (key) => ({ key, type: await redis.type(key) })));
}
