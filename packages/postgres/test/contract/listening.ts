import { recordingLogger, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/index.js';
import { notify, type SharedOptions, untilHeard } from '../support.js';

/** Runs with a database that no other test uses, and stops it. */
export type Use = (
  options: Partial<SharedOptions>,
  use: (database: Database) => Promise<unknown>,
) => Promise<void>;

export function listeningContract(withDatabase: Use): void {
  describe('listen', () => {
    it('calls the handlers of a channel, whatever its name, until they are removed', () =>
      withDatabase({}, async (database) => {
        const names = ['plain', 'MiXed', 'a "quoted"; one', '😀', 'x'.repeat(63)];
        const channels = names.map((name) => {
          const got: string[] = [];
          return { name, got, end: database.listen(name, (payload) => got.push(payload)) };
        });
        for (const { name, got } of channels) await untilHeard(database, name, got, 'first');
        const [plain, mixed] = channels as [(typeof channels)[0], (typeof channels)[0]];
        plain.end();
        await notify(database, 'plain', 'too late');
        await untilHeard(database, 'MiXed', mixed.got, 'last');
        expect(plain.got).not.toContain('too late');
        for (const { end } of channels) end();
        expect(() => database.listen('x'.repeat(64), () => {})).toThrow(/1 to 63 bytes/);
      }));

    it('calls every handler even if one throws, and a handler may use the database', () => {
      const { log, lines } = recordingLogger();
      return withDatabase({ logger: log }, async (database) => {
        const results: unknown[] = [];
        database.listen('work', () => {
          throw new Error('bad handler');
        });
        database.listen('work', (payload) => {
          const query = database.query('SELECT $1::text AS got', [payload]);
          query.then(
            ({ rows }) => results.push(rows[0]?.got),
            (error: unknown) => results.push(error),
          );
        });
        const notified = () => database.transaction((tx) => notify(tx, 'work', 'now'));
        await until(() => notified().then(() => results.length > 0), { what: 'the query of the handler' });
        expect(new Set(results)).toEqual(new Set(['now']));
        const fields = { channel: 'work', reason: 'Error: bad handler' };
        expect(lines).toContainEqual({ level: 'error', fields, message: 'NOTIFY handler failed' });
      });
    });
  });
}
