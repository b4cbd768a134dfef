import pg from 'pg';

/** Asks PostgreSQL something, past everything that is tested. */
export async function asking<T>(url: string, ask: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2000,
    query_timeout: 10_000,
  });
  client.on('error', () => {}); // Told by the call that fails.
  try {
    await client.connect();
    return await ask(client);
  } finally {
    await client.end().catch(() => {});
  }
}
