import { leakCheck } from '@millrace/testkit/vitest';
import { expect, it } from 'vitest';
import { OPEN_TURNS_MAX } from '../../src/chat/chat-service.js';
import { startChat } from './start-chat.js';

leakCheck();

it('tells which turns of a session run and wait', async () => {
  const { chat, steps, settle } = await startChat();
  const { id } = await chat.createSession({ tenant: 'acme' });
  await chat.createSession({ sessionId: 'quiet' });
  const open = async () => (await chat.openTurns(`acme/${id}`)).map(({ taskId, status }) => [taskId, status]);
  expect(await open()).toEqual([]);
  const turns: string[] = [];
  for (const message of ['a', 'b', 'c'])
    turns.push((await chat.enqueue(id, message, { tenant: 'acme' })).taskId);
  await settle();
  expect(await open()).toEqual(turns.map((turn, n) => [turn, n === 0 ? 'STREAMING' : 'QUEUED']));
  expect(await chat.openTurns('quiet')).toEqual([]);
  await chat.cancel(id, turns[1] as string, { tenant: 'acme' });
  expect(await open()).toEqual([
    [turns[0], 'STREAMING'],
    [turns[2], 'QUEUED'],
  ]);
  // It runs until its runtime gives up, and is over all the same.
  await chat.cancel(id, turns[0] as string, { tenant: 'acme' });
  expect(await open()).toEqual([[turns[2], 'QUEUED']]);
  steps.finish('a');
  await settle();
  expect(await open()).toEqual([[turns[2], 'STREAMING']]);
  steps.finish('c');
  await settle();
  expect(await open()).toEqual([]);
  await expect(chat.openTurns(`acme/${id}`, { tenant: 'other' })).rejects.toMatchObject({
    code: 'CHAT_SESSION_NOT_FOUND',
  });
  for (let turn = 0; turn < OPEN_TURNS_MAX + 2; turn++) await chat.enqueue('quiet', `turn ${turn}`);
  expect(await chat.openTurns('quiet')).toHaveLength(OPEN_TURNS_MAX);
});
