import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { requireNoLeaks, settledResources } from '../src/open-resources.js';

// This file is also the clean suite that must pass: each test closes what it opens.
leakCheck();

const listening = async () => {
  const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

describe('requireNoLeaks', () => {
  it.each([
    ['1 × Timeout', 'timer', () => setTimeout(() => {}, 60_000), clearTimeout],
    ['1 × TCPServerWrap', 'server', listening, (server) => server.close()],
    [
      '1 × ProcessWrap',
      'child process',
      () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }),
      (child) => child.kill('SIGKILL'),
    ],
    // biome-ignore lint/suspicious/noExplicitAny: each row opens and closes another type
  ] as [string, string, () => any, (opened: any) => void][])(
    'reports %s for a forgotten %s',
    async (kind, _, open, close) => {
      const baseline = await settledResources();
      const opened = await open();
      await expect(requireNoLeaks(baseline, 20)).rejects.toThrow(`still open 20 ms after the end: ${kind}`);
      close(opened);
      await requireNoLeaks(baseline);
    },
  );

  it('reports a forgotten socket', async () => {
    const server = await listening();
    const baseline = await settledResources();
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('TCPSocketWrap');
    socket.destroy();
    await requireNoLeaks(baseline);
    server.close();
    await once(server, 'close');
  });

  it('waits for what is being closed, and ignores what lets the process end', async () => {
    const baseline = await settledResources();
    setTimeout(() => {}, 50);
    const unreferenced = setTimeout(() => {}, 60_000).unref();
    await requireNoLeaks(baseline);
    clearTimeout(unreferenced);
  });
});

it('settledResources leaves out a timer that ends soon', async () => {
  setTimeout(() => {}, 100);
  const baseline = await settledResources();
  const forgotten = setTimeout(() => {}, 60_000);
  await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('1 × Timeout');
  clearTimeout(forgotten);
});
