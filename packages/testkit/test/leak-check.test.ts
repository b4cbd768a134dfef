import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { leakCheck } from '../src/leak-check.js';
import { requireNoLeaks, settledResources } from '../src/open-resources.js';

// This file is also the clean suite that must pass: each test closes what it opens.
leakCheck();

it('reports a forgotten server and timer, although another timer ended before', async () => {
  setTimeout(() => {}, 100);
  const baseline = await settledResources();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const timer = setTimeout(() => {}, 60_000);
  // The first timer ends within this deadline. If it were in the baseline, it would hide the second.
  await expect(requireNoLeaks(baseline, 200)).rejects.toThrow(
    'still open 200 ms after the end: 1 × TCPServerWrap, 1 × Timeout',
  );
  server.close();
  clearTimeout(timer);
  await requireNoLeaks(baseline);
});

it('waits for what is being closed, and ignores what lets the process end', async () => {
  const baseline = await settledResources();
  setTimeout(() => {}, 50);
  const unreferenced = setTimeout(() => {}, 60_000).unref();
  await requireNoLeaks(baseline);
  clearTimeout(unreferenced);
});
