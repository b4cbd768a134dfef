import { PgDatabase } from '@millrace/postgres';
import { startTcpProxy, type TcpProxy } from '@millrace/testkit';
import { PostgresOperationStore } from '../../src/postgres/index.js';
import { Home } from '../contract/home.js';
import { openDatabase, SCHEMA, type StoreDatabase } from '../open-store.js';

/** Several instances on one server, each with connections of its own. */
export interface World {
  readonly database: StoreDatabase['database'];
  /** Another instance; through a network that fails on command if one is given. */
  join(through?: TcpProxy): Promise<Home>;
  startProxy(): Promise<TcpProxy>;
  end(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const opened = await openDatabase('postgres');
  const url = new URL(opened.url ?? '');
  const endings: (() => Promise<void>)[] = [];
  return {
    database: opened.database,
    join: async (through) => {
      const address = new URL(url);
      if (through) address.host = `127.0.0.1:${through.port}`;
      const database = new PgDatabase({
        url: address.href,
        reconnectMaxMs: 50,
        poolSize: 4,
        callTimeoutMs: 15_000,
      });
      const store = new PostgresOperationStore({ database, schema: SCHEMA });
      await store.start();
      const close = async () => {
        await store.stop();
        await database.stop();
      };
      endings.push(close);
      return new Home({
        store,
        clear: async () => {},
        moveTime: async () => {},
        transaction: (fn) => database.transaction(fn),
        close,
      });
    },
    startProxy: async () => {
      const proxy = await startTcpProxy({ targetHost: url.hostname, targetPort: Number(url.port) });
      endings.push(() => proxy.close());
      return proxy;
    },
    end: async () => {
      for (const end of endings.toReversed()) await end();
      await opened.close();
    },
  };
}
