import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServerClient, type ServerClient } from '@millrace/contract/server-client';
import { PgliteDatabase } from '@millrace/postgres';
import { pgliteFolder, postgresSandbox, redisSandbox } from '@millrace/testkit';
import { startBrowser } from '@millrace/testkit/browser';
import type { Browser } from 'playwright-core';
import { type MillraceProcess, runMillrace } from '../../server/test/process/millrace-process.js';
import { goTo, type OpenOptions, type OpenPage, openPage } from './browser.js';

/** A real server and a real Chromium. */
export interface World extends AsyncDisposable {
  readonly url: string;
  /** What the page says is compared with what this says. */
  readonly api: ServerClient;
  readonly browser: Browser;
  /** Opens a view; with options in a context of its own, as a new visitor. */
  open(path: string, options?: OpenOptions): Promise<OpenPage>;
  /** Everything that pages complained about so far. */
  complaints(): readonly string[];
}

/** Where a world keeps its work. */
export type WorldKind = 'embedded' | 'on Redis and PostgreSQL';

/** Few: what they take of the machine the browser does not have. */
export const WORKERS = 4;

/** Says that there is nothing, and so asks for nothing while nobody looks. */
const NO_VIEW = '/no-such-view';

/** How a server is started. */
export interface ServerSettings {
  readonly env?: Record<string, string>;
  /** Of `millrace start`. */
  readonly args?: readonly string[];
}

/** Where a server keeps its work, and how that is given back. */
export interface Stores extends AsyncDisposable {
  readonly folder: string;
  readonly env: Record<string, string>;
}

/** Starts a server and a browser. */
export async function startWorld(kind: WorldKind, settings: ServerSettings = {}): Promise<World> {
  const stores = await storesOf(kind);
  const server = runServerOn(stores, settings);
  const [url, browser] = await Promise.all([server.url(), startBrowser()]);
  const opened: OpenPage[] = [];
  /** Of visitors who have gone: the next one comes in their place, since to load the page costs more than most tests. */
  const idle: OpenPage[] = [];
  const rest = async (page: OpenPage) => {
    await page.page.unrouteAll({ behavior: 'ignoreErrors' });
    await goTo(page.page, NO_VIEW);
    idle.push(page);
  };
  return {
    url,
    api: createServerClient({ baseUrl: url }),
    browser,
    async open(path, openOptions) {
      const kept = openOptions === undefined ? idle.pop() : undefined;
      const page = kept ?? (await openPage(browser, url + path, openOptions));
      if (kept) await goTo(kept.page, path);
      else opened.push(page);
      return openOptions === undefined ? { ...page, [Symbol.asyncDispose]: () => rest(page) } : page;
    },
    complaints: () => opened.flatMap(({ complaints }) => complaints),
    async [Symbol.asyncDispose]() {
      await browser.close();
      await server[Symbol.asyncDispose]();
      await stores[Symbol.asyncDispose]();
    },
  };
}

/** Starts a server as a user would. */
export function runServerOn({ folder, env }: Stores, settings: ServerSettings = {}): MillraceProcess {
  const args = ['start', '--port', '0', '--data-dir', join(folder, 'data'), ...(settings.args ?? [])];
  return runMillrace(args, { folder, env: { MILLRACE_LOG_LEVEL: 'warn', ...env, ...settings.env } });
}

/** Makes the stores of a server that has never run. */
export async function storesOf(kind: WorldKind): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-page-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (kind === 'embedded') {
    // As a first start leaves it: making a database takes longer than much of what is looked at.
    using template = await pgliteFolder(async (dataDir) => {
      await using made = new PgliteDatabase({ dataDir });
      await made.start();
    });
    cpSync(template.dataDir, join(folder, 'data/database'), { recursive: true });
    return { folder, env: {}, [Symbol.asyncDispose]: async () => remove() };
  }
  const [redis, postgres] = await Promise.all([redisSandbox(), postgresSandbox()]);
  const env = {
    REDIS_URL: redis.url,
    MILLRACE_KEY_PREFIX: `${redis.namespace}:`,
    DATABASE_URL: postgres.url,
  };
  await runMillrace(['migrate'], { folder, env }).ended;
  const release = async () => {
    await redis[Symbol.asyncDispose]();
    await postgres.drop();
    remove();
  };
  return { folder, env, [Symbol.asyncDispose]: release };
}
