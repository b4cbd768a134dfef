// Three chat sessions at once: turns of one session run in order, sessions side by side, tokens as they come.
import { ChatService, DemoChatRuntime } from '@millrace/runtime/chat';

const chat = new ChatService({ runtime: new DemoChatRuntime({ tokenDelayMs: 5 }), tasks: { maxWorkers: 3 } });
await chat.start();

async function converse(name) {
  const session = await chat.createSession({ sessionId: name });
  const turns = [];
  // Both messages are accepted at once; the second waits for its lane, not for a worker.
  for (const message of [`I am ${name}`, 'What did I say?'])
    turns.push(await chat.enqueue(session.id, message));
  for (const { taskId } of turns) {
    let text = '';
    let tokens = 0;
    for await (const event of await chat.stream(session.id, taskId)) {
      if (event.type !== 'token') continue;
      tokens++;
      text += event.text;
    }
    console.log(`${name}: ${tokens} tokens … ${text.slice(text.indexOf('Before this turn'))}`);
  }
}

await Promise.all(['Ada', 'Grace', 'Edsger'].map(converse));
await chat.stop();
