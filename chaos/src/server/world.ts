import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  freePort,
  type Ledger,
  openLedger,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
  startTcpProxy,
  type TcpProxy,
} from '@millrace/testkit';
import { Crew } from '../crew.js';
import { asking } from '../postgres.js';
import { programFile } from '../programs.js';
import type { ScenarioContext } from '../registry.js';
import { lastWords, migrate, through } from './processes.js';
import { configOf, type ServerBrief, type ServerRole, type ServerScale } from './settings.js';

/** One process of the server; it is replaced when it dies. */
export interface ServerPlace {
  readonly name: string;
  readonly role: ServerRole;
  readonly crew: Crew;
}

/** Redis, PostgreSQL, two processes of each role, and the ledger that all of them write. */
export interface ServerWorld extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  readonly places: readonly ServerPlace[];
  /** Between callers and the processes that answer them, one each. */
  readonly doors: readonly TcpProxy[];
  /** Between the processes and their stores. */
  readonly wires: readonly TcpProxy[];
  readonly ledger: Ledger;
  readonly ledgerPath: string;
}

const ROLES: readonly ServerRole[] = ['api', 'api', 'worker', 'worker'];

/**
 * Starts everything.
 * @param context - the scenario's.
 */
export async function openServerWorld(context: ScenarioContext, scale: ServerScale): Promise<ServerWorld> {
  const opened: AsyncDisposable[] = [];
  const close = async () => {
    for (const one of opened.reverse()) await one[Symbol.asyncDispose]();
  };
  try {
    return { ...(await open(context, scale, opened)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw new Error(`the server did not start: ${lastWords(context.folder)}`, { cause: error });
  }
}

async function open(
  { folder }: ScenarioContext,
  scale: ServerScale,
  opened: AsyncDisposable[],
): Promise<Omit<ServerWorld, typeof Symbol.asyncDispose>> {
  const keep = <T extends AsyncDisposable>(one: T): T => {
    opened.push(one);
    return one;
  };
  const ledgerPath = join(folder, 'ledger');
  const ledger = openLedger(ledgerPath);
  keep({ [Symbol.asyncDispose]: async () => ledger.close() });
  const redis = await startRedis();
  keep({ [Symbol.asyncDispose]: () => redis.stop() });
  const postgres = await startPostgres();
  keep({ [Symbol.asyncDispose]: () => postgres.stop() });
  const wireTo = async ({ host, port }: { readonly host: string; readonly port: number }) =>
    keep(await startTcpProxy({ targetHost: host, targetPort: port }));
  const wires = [await wireTo(redis), await wireTo(postgres)] as const;
  const stores = { redisUrl: through(wires[0], redis.url), databaseUrl: through(wires[1], postgres.url) };
  const places: ServerPlace[] = [];
  const doors: TcpProxy[] = [];
  const app = programFile('server/campaign-app');
  for (const [n, role] of ROLES.entries()) {
    const name = `${role}-${n}`;
    const port = await freePort();
    const config = join(folder, `${name}.json`);
    writeFileSync(config, JSON.stringify(configOf({ role, port, app, ...stores }, scale)));
    if (n === 0) await createTables(config, postgres.url);
    if (role === 'api') doors.push(await wireTo({ host: '127.0.0.1', port }));
    const brief: ServerBrief = { program: programFile('millrace'), config, ledger: ledgerPath, port };
    const output = join(folder, `${name}.log`);
    places.push({ name, role, crew: keep(new Crew({ program: 'server-instance', brief, ledger, output })) });
  }
  await Promise.all(places.map(({ crew }) => crew.start(1)));
  return { redis, postgres, places, doors, wires, ledger, ledgerPath };
}

/** Writes down every end of an operation, and every change after it, whatever callers were told. */
const WATCH_ENDS = `
  CREATE TABLE operation_end (op_id uuid NOT NULL);
  CREATE FUNCTION note_operation_end() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
  BEGIN
    INSERT INTO operation_end VALUES (NEW.op_id);
    RETURN NULL;
  END
  $$;
  CREATE TRIGGER note_operation_insert AFTER INSERT ON millrace.operation
    FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL) EXECUTE FUNCTION note_operation_end();
  CREATE TRIGGER note_operation_end AFTER UPDATE ON millrace.operation
    FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL AND ROW(OLD.ended_at, OLD.state, OLD.outcome)
      IS DISTINCT FROM ROW(NEW.ended_at, NEW.state, NEW.outcome))
    EXECUTE FUNCTION note_operation_end();
`;

async function createTables(config: string, url: string): Promise<void> {
  await migrate(config);
  await asking(url, (client) => client.query(WATCH_ENDS));
}
