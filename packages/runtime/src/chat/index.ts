/**
 * Chat on the lanes of the task manager: sessions whose turns run in order and stream their answers, a demo runtime that
 * needs nothing, and a client for any endpoint that speaks OpenAI's streaming chat completions.
 *
 * @packageDocumentation
 */
export {
  type ChatCaller,
  ChatService,
  type ChatServiceDependencies,
  type NewChatSession,
  OPEN_TURNS_MAX,
} from './chat-service.js';
export {
  DEMO_CHAT_RUNTIME_DEFAULTS,
  DemoChatRuntime,
  type DemoChatRuntimeOptions,
  type ResolvedDemoChatRuntimeOptions,
} from './demo-runtime.js';
export { chatRuntimeFromEnvironment } from './environment.js';
export {
  IN_MEMORY_SESSION_STORE_DEFAULTS,
  InMemoryChatSessionStore,
  type InMemorySessionStoreOptions,
  type ResolvedInMemorySessionStoreOptions,
} from './in-memory-session-store.js';
export type { ChatMessage, ChatReceipt, ChatSession, ChatTaskResult, ChatTaskView } from './model.js';
export {
  OPENAI_CHAT_RUNTIME_DEFAULTS,
  type OpenAiChatRuntimeOptions,
  type ResolvedOpenAiChatRuntimeOptions,
  resolveOpenAiChatRuntimeOptions,
} from './openai-options.js';
export { OpenAiChatRuntime, type OpenAiChatRuntimeDependencies } from './openai-runtime.js';
export {
  CHAT_SERVICE_DEFAULTS,
  type ChatServiceOptions,
  type ResolvedChatServiceOptions,
  resolveChatServiceOptions,
} from './options.js';
export type { ChatRuntime, ChatSessionStore, ChatTurn } from './ports.js';
