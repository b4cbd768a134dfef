import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, startRedis } from '@millrace/testkit';
import { migrate, type ServerProcess, startServer } from './server-process.js';

/** Starts an API instance in a process of its own, on a Redis and a PostgreSQL of this run; it answers when this returns. */
export async function startApi(): Promise<ServerProcess> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const place = {
    folder,
    env: { REDIS_URL: redis.url, DATABASE_URL: postgres.url, MILLRACE_ROLE: 'api' },
  };
  const stopServers = async () => {
    await Promise.all([redis.stop(), postgres.stop()]);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await migrate(place);
    const server = await startServer(place);
    return {
      ...server,
      async stop() {
        await server.stop();
        await stopServers();
      },
    };
  } catch (error) {
    await stopServers();
    throw error;
  }
}
