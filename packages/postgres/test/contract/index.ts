import { leakCheck } from '@millrace/testkit/vitest';
import { afterAll, beforeAll, describe } from 'vitest';
import type { Database } from '../../src/index.js';
import type { DatabasePlace } from '../support.js';
import { lifeContract } from './life.js';
import { listeningContract, type Use } from './listening.js';
import { migrationsContract } from './migrations.js';
import { statementsContract } from './statements.js';
import { transactionsContract } from './transactions.js';
import { valuesContract } from './values.js';

/** The tests that every driver passes. */
export function databaseContract(name: string, makePlace: () => Promise<DatabasePlace>): void {
  leakCheck();
  describe(`Database contract: ${name}`, () => {
    let place: DatabasePlace;
    beforeAll(async () => {
      place = await makePlace();
    }, 60_000);
    afterAll(() => place[Symbol.asyncDispose]());

    const withDatabase: Use = async (options, use) => {
      await using database = place.open(options);
      await use(database);
    };

    describe('one database', () => {
      let database: Database;
      beforeAll(() => {
        database = place.open();
      });
      afterAll(() => database.stop());
      valuesContract(() => database);
      statementsContract(() => database);
      transactionsContract(() => database);
      migrationsContract(() => database);
    });

    listeningContract(withDatabase);
    lifeContract(withDatabase, (options) => place.open(options));
  });
}
