import { describe, expect, it } from 'vitest';
import { CHAT_ROUTES, type HttpRoute } from '../src/index.js';
import { expectStrict, rowOf } from './rows.js';

const ROUTES: readonly HttpRoute[] = Object.values(CHAT_ROUTES);

describe('the routes of chat', () => {
  it('are those of the specification, with who may ask them', () => {
    expect(ROUTES.map(rowOf).toSorted()).toEqual([
      'DELETE /api/chat/sessions/{sessionId}/tasks/{taskId} operate own audited',
      'GET /api/chat/sessions read own',
      'GET /api/chat/sessions/{sessionId} read own',
      'GET /api/chat/sessions/{sessionId}/tasks/{taskId}/result read own',
      'GET /api/chat/sessions/{sessionId}/tasks/{taskId}/status read own',
      'GET /api/chat/sessions/{sessionId}/tasks/{taskId}/stream read own streams',
      'POST /api/chat/sessions operate own',
      'POST /api/chat/sessions/{sessionId}/queue operate own',
    ]);
  });

  it('say that a session lives on one instance', () => {
    const { createChatSession, queueChatMessage, getChatSession } = CHAT_ROUTES;
    for (const { description } of [createChatSession, queueChatMessage, getChatSession])
      expect(description).toContain('sticky routing');
  });

  it('have schemas that can be written as JSON Schema; requests are strict', () => expectStrict(ROUTES));
});
