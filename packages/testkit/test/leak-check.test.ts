import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { requireNoLeaks, settledResources } from '../src/open-resources.js';

// This file is also the clean suite that must pass: each test closes what it opens.
leakCheck();

it('reports a forgotten timer, although another one ended before', async () => {
  setTimeout(() => {}, 100);
  const baseline = await settledResources();
  const forgotten = setTimeout(() => {}, 60_000);
  await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('still open 20 ms after the end: 1 × Timeout');
  clearTimeout(forgotten);
  await requireNoLeaks(baseline);
});

it('reports a forgotten server', async () => {
  const baseline = await settledResources();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  await expect(requireNoLeaks(baseline, 20)).rejects.toThrow('1 × TCPServerWrap');
  server.close();
  await requireNoLeaks(baseline);
});

it('waits for what is being closed, and ignores what lets the process end', async () => {
  const baseline = await settledResources();
  setTimeout(() => {}, 50);
  const unreferenced = setTimeout(() => {}, 60_000).unref();
  await requireNoLeaks(baseline);
  clearTimeout(unreferenced);
});
