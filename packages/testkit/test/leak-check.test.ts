import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { requireNoLeaks, settledResources } from '../src/open-resources.js';

// This file is also the clean suite that must pass: everything below is closed again.
leakCheck();

describe('requireNoLeaks', () => {
  it('passes when nothing was left', async () => {
    await requireNoLeaks(await settledResources(), 0);
  });

  it('catches a forgotten timer', async () => {
    const baseline = await settledResources();
    const timer = setTimeout(() => {}, 60_000);
    await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('still open 20 ms after the end: 1 × Timeout');
    clearTimeout(timer);
    await requireNoLeaks(baseline);
  });

  it('catches a forgotten server', async () => {
    const baseline = await settledResources();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('1 × TCPServerWrap');
    server.close();
    await requireNoLeaks(baseline);
  });

  it('catches a forgotten socket', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseline = await settledResources();
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('TCPSocketWrap');
    socket.destroy();
    await requireNoLeaks(baseline);
    server.close();
    await once(server, 'close');
  });

  it('catches a forgotten child process', async () => {
    const baseline = await settledResources();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('1 × ProcessWrap');
    child.kill('SIGKILL');
    await requireNoLeaks(baseline);
  });

  it('waits for what is just being closed', async () => {
    const baseline = await settledResources();
    setTimeout(() => {}, 50);
    await requireNoLeaks(baseline);
  });

  it('does not count what lets the process end', async () => {
    const baseline = await settledResources();
    const timer = setTimeout(() => {}, 60_000).unref();
    await requireNoLeaks(baseline, 0);
    clearTimeout(timer);
  });
});

describe('settledResources', () => {
  it('passes over a timer that is there for a moment', async () => {
    setTimeout(() => {}, 100);
    const baseline = await settledResources();
    const forgotten = setTimeout(() => {}, 60_000);
    await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('1 × Timeout');
    clearTimeout(forgotten);
  });
});
