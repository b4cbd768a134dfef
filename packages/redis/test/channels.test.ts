import { redisSandbox, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { expect, it } from 'vitest';
import { RedisConnection } from '../src/index.js';

leakCheck();

/** The fields of a listening client in CLIENT LIST. */
async function listenerOf(admin: RedisConnection, name: string) {
  const clients = String(await admin.call('CLIENT', ['LIST', 'TYPE', 'pubsub'])).split('\n');
  const fields = clients.find((line) => line.includes(`name=${name}:channels`))?.split(' ');
  return fields && Object.fromEntries(fields.map((field) => field.split('=') as [string, string]));
}

it('delivers messages, even after a lost connection, until the listener leaves', async () => {
  await using sandbox = await redisSandbox();
  await using connection = new RedisConnection({ url: sandbox.url, connectionName: sandbox.namespace });
  const channel = `${sandbox.namespace}news`;
  const heard: string[] = [];
  const deaf: string[] = [];
  const leave = connection.channels.subscribe(channel, (message) => {
    heard.push(message);
    throw new Error('the other listener gets the message too');
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
  const { id = 'none' } = (await listenerOf(connection, sandbox.namespace)) ?? {};
  await connection.call('CLIENT', ['KILL', 'ID', id]);
  await isHeard('two');
  expect(deaf).not.toContain('two');
  leave();
  await until(async () => (await publish('three')) === 0, { what: 'no listener' });
  expect(heard).not.toContain('three');
});

it('checks and keeps a connection whose user may only subscribe', async () => {
  await using sandbox = await redisSandbox();
  await using admin = new RedisConnection({ url: sandbox.url });
  const [name, channel] = [sandbox.namespace, `${sandbox.namespace}news`];
  await admin.call('ACL', ['SETUSER', name, 'on', '>secret', '&*', '+subscribe', '+client|setname']);
  const { hostname, port } = new URL(sandbox.url);
  const address = { host: hostname, port: Number(port), username: name, password: 'secret' };
  await using connection = new RedisConnection({ ...address, connectionName: name, watchdogMs: 600 });
  connection.channels.subscribe(channel, () => {});
  const listener = () => listenerOf(admin, name);
  const { id } = await until(listener, { what: 'the listener' });
  // Its age shows that it was not replaced, its idle time that it was checked.
  const isKept = async () => {
    const { age, idle } = (await listener()) ?? {};
    return Number(age) >= 2 && idle === '0';
  };
  await until(isKept, { what: 'the listener to be asked' });
  expect((await listener())?.id).toBe(id);
  await connection.stop();
  await admin.call('ACL', ['DELUSER', name]);
});
