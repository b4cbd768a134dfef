import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServerClient, type ServerClient } from '@millrace/contract/server-client';
import { PgliteDatabase } from '@millrace/postgres';
import { pgliteFolder } from '@millrace/testkit';
import { startBrowser } from '@millrace/testkit/browser';
import type { Browser } from 'playwright-core';
import { type ServerProcess, startServer } from '../server/server-process.js';
import { type Amounts, fillServer } from './fill-server.js';

const APP = fileURLToPath(new URL('./dying-app.js', import.meta.url));
/** Longer than everything that is looked at takes. */
const DEMO = { seconds: 600, whaleJobs: 5_000, tenants: 12 };

/** A full server with work going on, and a browser to look at it. */
export interface Stage {
  readonly url: string;
  readonly browser: Browser;
  readonly client: ServerClient;
  /** Brings work unless some is being brought: the page is to be looked at while it changes. */
  enliven(): Promise<void>;
  close(): Promise<void>;
}

/** Starts an embedded server in a process of its own, fills it over HTTP and starts a browser. */
export async function openStage(amounts: Amounts): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const env = {
    MILLRACE_APP: APP,
    MILLRACE_DATA_DIR: folder,
    // All groups come from one address within seconds.
    MILLRACE_LIMIT_REQUESTS_PER_SECOND: '0',
  };
  let server: ServerProcess | undefined;
  let browser: Browser | undefined;
  const close = async () => {
    await browser?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await makeDatabase(join(folder, 'database'));
    [server, browser] = await Promise.all([startServer({ folder, env }), startBrowser()]);
    const { url } = server;
    const client = createServerClient({ baseUrl: url, retries: 10 });
    await fillServer(client, amounts);
    const enliven = async () => void (await client.call('startDemo', { body: DEMO }));
    return { url, browser, client, enliven, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** As a first start leaves it, and in less time than that. */
async function makeDatabase(folder: string): Promise<void> {
  using template = await pgliteFolder(async (dataDir) => {
    await using made = new PgliteDatabase({ dataDir });
    await made.start();
  });
  cpSync(template.dataDir, folder, { recursive: true });
}
