import { redisSandbox, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { expect, it } from 'vitest';
import { RedisConnection } from '../src/client.js';

leakCheck();

it('what is published is heard, also after the connection was lost; who has left hears nothing', async () => {
  await using sandbox = await redisSandbox();
  await using connection = new RedisConnection({ url: sandbox.url, connectionName: sandbox.namespace });
  const channel = `${sandbox.namespace}news`;
  const heard: string[] = [];
  const deaf: string[] = [];
  const leave = connection.channels.subscribe(channel, (message) => {
    heard.push(message);
    throw new Error('a listener that fails keeps nothing from the others');
  });
  const leaveToo = connection.channels.subscribe(channel, (message) => deaf.push(message));
  const publish = (message: string) => connection.call('PUBLISH', [channel, message]);
  const isHeard = (message: string) =>
    until(async () => (await publish(message)) === 1 && heard.includes(message), {
      what: `${message} to be heard`,
    });
  await isHeard('one');
  expect(deaf).toContain('one');
  leaveToo();
  const clients = String(await connection.call('CLIENT', ['LIST', 'TYPE', 'pubsub'])).split('\n');
  const mine = clients.find((line) => line.includes(`name=${sandbox.namespace}:channels`));
  await connection.call('CLIENT', ['KILL', 'ID', /id=(\d+)/.exec(mine ?? '')?.[1] ?? 'none']);
  await isHeard('two');
  expect(deaf).not.toContain('two');
  leave();
  await until(async () => (await publish('three')) === 0, { what: 'nobody to listen any more' });
  expect(heard).not.toContain('three');
});
