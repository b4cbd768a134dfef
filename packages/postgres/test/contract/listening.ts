import { recordingLogger, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/index.js';
import type { SharedOptions } from '../open-databases.js';

/** LISTEN and NOTIFY, which is plain SQL. */
export function listeningContract(withDatabase: Use): void {
  const notify = (database: Pick<Database, 'query'>, channel: string, payload: string) =>
    database.query('SELECT pg_notify($1, $2)', [channel, payload]);
  /** Listening begins when its connection stands: knocks until it is heard. */
  const heard = async (database: Database, channel: string, got: readonly string[]) => {
    await until(() => notify(database, channel, 'knock').then(() => got.includes('knock')), {
      what: 'NOTIFY',
    });
  };

  describe('listen', () => {
    it('hears its channel, whatever its name, and nothing after it ended', () =>
      withDatabase({}, async (database) => {
        const names = ['plain', 'MiXed', 'a "quoted"; one', '😀', 'x'.repeat(63)];
        const ears = names.map((name) => {
          const got: string[] = [];
          return { name, got, end: database.listen(name, (payload) => got.push(payload)) };
        });
        for (const { name, got } of ears) await heard(database, name, got);
        const [plain, mixed] = ears as [(typeof ears)[0], (typeof ears)[0]];
        plain.end();
        await notify(database, 'plain', 'too late');
        await notify(database, 'MiXed', 'last');
        await until(() => mixed.got.includes('last'), { what: 'the last one' });
        expect(plain.got).not.toContain('too late');
        for (const { end } of ears) end();
        expect(() => database.listen('x'.repeat(64), () => {})).toThrow(/1 to 63 bytes/);
      }));

    it('a transaction tells when it commits, one that is rolled back tells nothing', () =>
      withDatabase({}, async (database) => {
        const got: string[] = [];
        database.listen('tx', (payload) => got.push(payload));
        await heard(database, 'tx', got);
        await database
          .transaction(async (tx) => {
            await notify(tx, 'tx', 'rolled back');
            throw new Error('no');
          })
          .catch(() => {});
        await database.transaction((tx) => notify(tx, 'tx', 'committed'));
        await until(() => got.includes('committed'), { what: 'the committed one' });
        expect(got).not.toContain('rolled back');
      }));

    it('a handler may use the database, and one that throws disturbs nobody', () => {
      const { log, lines } = recordingLogger();
      return withDatabase({ logger: log }, async (database) => {
        const answers: unknown[] = [];
        const failures: unknown[] = [];
        database.listen('work', () => {
          throw new Error('bad handler');
        });
        database.listen('work', (payload) => {
          database.query('SELECT $1::text AS got', [payload]).then(
            ({ rows }) => answers.push(rows[0]?.got),
            (error: unknown) => failures.push(error),
          );
        });
        await until(
          async () => {
            await database.transaction((tx) => notify(tx, 'work', 'now'));
            return answers.includes('now');
          },
          { what: 'the handler’s own query' },
        );
        expect(failures).toEqual([]);
        expect(
          lines.some(({ level, fields }) => level === 'error' && /bad handler/.test(`${fields.reason}`)),
        ).toBe(true);
      });
    });
  });
}

/** Runs with a database that nobody else uses, and stops it. */
export type Use = (
  options: Partial<SharedOptions>,
  use: (database: Database) => Promise<unknown>,
) => Promise<void>;
