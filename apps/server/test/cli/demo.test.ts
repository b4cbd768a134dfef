import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@millrace/testkit';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Asking } from '../../src/cli/ask/asking.js';
import { someServer } from '../../src/cli/ask/some-server.js';
import { Printer } from '../../src/cli/show/printer.js';
import { serve, type TestServer } from '../serve.js';
import { capturedSurroundings, runCaptured } from './captured.js';

let server: TestServer;
beforeAll(async () => {
  server = await serve();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const patience = { deadlineMs: 15_000 };
const demo = (args: readonly string[], isTerminal = false) =>
  runCaptured(['demo', '--url', server.url, ...args], { isTerminal });
const whaleIsOpen = async (run: string) => {
  const { body } = await server.send(`/api/bulk/groups/${encodeURIComponent(`demo-whale/${run}`)}`);
  return body.status !== 'CANCELLED';
};

describe('millrace demo', () => {
  it('shows a demo until it is over, and says what came of it', { timeout: 40_000 }, async () => {
    const shown = demo(['--seconds', '10', '--whale-jobs', '2000', '--tenants', '2', '--json']);
    await until(() => shown.err().includes('whale'), { what: 'the first line', ...patience });
    // Somebody else looks at the same one: interrupted, it goes on.
    const other = demo([], true);
    await until(() => other.err().includes('dead'), { what: 'a picture', ...patience });
    other.events.emit('SIGINT');
    expect(await other.exitCode).toBe(130);
    expect(other.err()).toMatch(/A demo runs there already, until \d\d:\d\d:\d\d UTC: this shows it\./);
    expect(other.err()).toContain('The demo goes on without being watched');
    const [hidden, shownAgain] = ['\u001b[?25l', '\u001b[?25h'].map((code) => other.err().lastIndexOf(code));
    expect(hidden).toBeGreaterThan(0);
    expect(shownAgain).toBeGreaterThan(hidden as number);
    expect(other.events.eventNames()).toEqual([]);

    expect(await shown.exitCode).toBe(0);
    const summary = JSON.parse(shown.out());
    expect(summary).toMatchObject({
      url: server.url,
      ownServer: false,
      seconds: 10,
      service: { resource: 'demo-service' },
      batches: { done: 1, failed: 0, open: 0 },
    });
    const names = summary.tenants.map(({ tenant }: { tenant: string }) => tenant);
    expect(names.slice(0, 3)).toEqual(['demo-whale', 'demo-shop-01', 'demo-shop-02']);
    expect(names).toEqual(expect.arrayContaining(['demo-caller', 'demo-unlucky', 'demo-desk']));
    const [whale] = summary.tenants;
    expect(whale).toMatchObject({ jobs: 2_000, groups: 1, firstStartMs: { max: expect.any(Number) } });
    expect(whale.success + whale.failed + whale.cancelled).toBe(2_000);
    expect(summary.deadLetters.count).toBeGreaterThanOrEqual(9);
    expect(summary.deadLetters.causes.length).toBe(3);
    expect(summary.operations.completed).toBeGreaterThanOrEqual(3);
    expect(summary.chat.answered).toBeGreaterThanOrEqual(1);
    expect(summary.chat.pieces).toBeGreaterThan(10);
    expect(summary.takeaways[0]).toMatch(
      /^The whale brought 2,000 jobs at once\. \d+ groups? of 2 small tenants/,
    );
    expect(await whaleIsOpen(summary.run)).toBe(whale.cancelled === 0);
  });

  it('is ended by whoever interrupts it', async () => {
    const shown = demo(['--whale-jobs', '500']);
    await until(() => shown.err().includes('whale'), { what: 'the first line', ...patience });
    expect(shown.err()).toContain(`Look at it in another window: ${server.url}/\n`);
    const stillRuns = await server.send('/api/demo', { method: 'POST', body: {} });
    expect(stillRuns.body.created).toBe(false);
    shown.events.emit('SIGINT');
    expect(await shown.exitCode).toBe(130);
    expect(shown.err()).toMatch(/The demo has been stopped\. Ended: \d+ groups?, /);
    expect(shown.out()).toBe('');
    expect(await whaleIsOpen(stillRuns.body.run)).toBe(false);
    const stop = demo(['--stop']);
    expect(await stop.exitCode).toBe(0);
    expect(stop.out()).toBe('There was nothing of a demo to end.\n');
  });

  it('refuses what no server would take before it looks for one', async () => {
    const refused = runCaptured(['demo', '--seconds', '5']);
    expect(await refused.exitCode).toBe(2);
    expect(refused.err()).toMatch(/--seconds cannot be used: /);
  });

  it('does not replace a server that was named', async () => {
    for (const [args, env] of [
      [['--url', 'http://127.0.0.1:1'], {}],
      [[], { MILLRACE_URL: 'http://127.0.0.1:1' }],
    ] as const) {
      const { exitCode, err } = runCaptured(['demo', ...args], { env });
      expect(await exitCode).toBe(1);
      expect(err()).toContain('No server answers at http://127.0.0.1:1');
    }
  });
});

describe('a server of one’s own', () => {
  /** Not one of ours, as others have on that port. */
  let foreign: Server;
  let folder: string;
  beforeAll(async () => {
    foreign = createServer((_, response) => response.end('<h1>Hello</h1>')).listen(0, '127.0.0.1');
    await until(() => foreign.listening, { what: 'the other program' });
    folder = await mkdtemp(join(tmpdir(), 'own-'));
    vi.stubEnv('TMPDIR', folder);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    foreign.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is started where none of ours answers, and leaves nothing', { timeout: 40_000 }, async () => {
    const { surroundings, events, err } = capturedSurroundings();
    const asking = {
      url: `http://127.0.0.1:${(foreign.address() as AddressInfo).port}`,
      apiKey: undefined,
      signal: new AbortController().signal,
      surroundings,
      printer: new Printer(surroundings),
      command: new Command('demo'),
    } as unknown as Asking;
    const own = await someServer(asking);
    expect(err()).toContain(`No server answers at ${asking.url}: starting one`);
    expect(own).toMatchObject({ isOwn: true, url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) });
    expect(await own.client.call('getCaller', {})).toMatchObject({ embedded: true });
    expect(await readdir(folder)).toHaveLength(1);
    expect(events.eventNames()).toEqual(['exit']);
    await own[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
    expect(events.eventNames()).toEqual([]);
    await expect(fetch(own.url)).rejects.toThrow();
  });
});
