import type { AuditEntry } from '@millrace/contract';
import { Inject, Injectable } from '@nestjs/common';
import { ServerTables } from './server-tables.js';

/** How long entries are kept. */
const KEPT_MS = 90 * 86_400_000;

/** What is known before the change. */
export type NewAuditEntry = Omit<AuditEntry, 'id' | 'at' | 'status'>;

/** Which entries. */
export interface AuditFilter {
  readonly tenant: string | undefined;
  readonly route: string | undefined;
  readonly key: string | undefined;
  /** Of the page before. */
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** The audit log as it is stored. */
@Injectable()
export class AuditStore {
  readonly #tables: ServerTables;

  constructor(@Inject(ServerTables) tables: ServerTables) {
    this.#tables = tables;
  }

  /**
   * Writes an entry.
   * @returns its id.
   * @throws MillraceError `BACKEND_UNAVAILABLE`: it may have been written; the error of PostgreSQL.
   */
  async write(entry: NewAuditEntry): Promise<string> {
    const { key, role, tenant, route, method, path, params, body, instanceId } = entry;
    const { id } = await this.#tables.once<Pick<AuditRow, 'id'>>('write-audit', [
      ...[key, role, tenant, route, method, path, params, body, instanceId],
    ]);
    return id;
  }

  /** Notes what a request was answered with. */
  async noteStatus(id: string, status: number): Promise<void> {
    await this.#tables.change('note-audit-status', [id, status]);
  }

  /** Entries, the newest first. */
  async list({ tenant, route, key, cursor, limit }: AuditFilter): Promise<readonly AuditEntry[]> {
    const rows = await this.#tables.rows<AuditRow>('list-audit', [tenant, route, key, cursor, limit]);
    return rows.map(({ at, key_name, instance_id, ...same }) => ({
      ...same,
      at: at.toISOString(),
      key: key_name,
      instanceId: instance_id,
    }));
  }

  /**
   * Removes some entries that are too old.
   * @param limit - at most so many.
   * @returns how many.
   */
  prune(limit: number): Promise<number> {
    return this.#tables.change('prune-audit', [KEPT_MS, limit]);
  }
}

interface AuditRow extends Omit<AuditEntry, 'at' | 'key' | 'instanceId'> {
  readonly at: Date;
  readonly key_name: string;
  readonly instance_id: string;
}
