import { type AddressInfo, createServer, type Server } from 'node:net';
import { ManualClock, until } from '@millrace/testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { awaitPort, PORT_LOOK_MS } from '../../../src/cli/watch/await-port.js';
import { requireFreePort } from '../../../src/http/free-port.js';

let other: Server;
let port: number;
beforeEach(async () => {
  other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  port = (other.address() as AddressInfo).port;
});
afterEach(() => void other.close());

/** A start that only looks at the port, and waits for it. */
function waiting() {
  const clock = new ManualClock();
  const said: string[] = [];
  const end = new AbortController();
  const needs = { port, clock, signal: end.signal, say: (line: string) => void said.push(line) };
  let looks = 0;
  const start = async () => {
    looks++;
    await requireFreePort({ host: '127.0.0.1', port });
    return 'served';
  };
  const pausing = (times: number) =>
    until(() => looks === times && clock.pendingTimers === 1, { what: 'the pause' });
  return { clock, said, end, pausing, served: awaitPort(start, needs) };
}

it('starts when the port is free, and tells of it once', async () => {
  const { clock, said, pausing, served } = waiting();
  await pausing(1);
  await clock.advance(PORT_LOOK_MS);
  await pausing(2);
  await new Promise((resolve) => other.close(resolve));
  await clock.advance(PORT_LOOK_MS);
  expect(await served).toBe('served');
  expect(said).toEqual([`Port ${port} is in use: waiting for it; --port names another.`]);
  await requireFreePort({ host: '127.0.0.1', port });
});

it('ends when it shall', async () => {
  const { end, pausing, served } = waiting();
  await pausing(1);
  end.abort(new Error('changed'));
  await expect(served).rejects.toThrow('changed');
});

it('does not wait for what will not pass', async () => {
  const signal = new AbortController().signal;
  const nowhere = () => requireFreePort({ host: '192.0.2.1', port });
  const needs = { port, clock: new ManualClock(), signal, say: () => {} };
  await expect(awaitPort(nowhere, needs)).rejects.toThrow('this machine does not have the address');
});
