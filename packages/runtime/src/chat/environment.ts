import { ERRORS } from '../errors.js';
import { DemoChatRuntime } from './demo-runtime.js';
import { API_KEY_EXPECTED, isApiKey, isHttpUrl } from './openai-options.js';
import { OpenAiChatRuntime, type OpenAiChatRuntimeDependencies } from './openai-runtime.js';
import type { ChatRuntime } from './ports.js';

/**
 * The chat runtime that `CHAT_API_URL`, `CHAT_API_KEY` and `CHAT_MODEL` ask for; without the first, the demo.
 * @param env - such as `process.env`; an empty value counts as absent.
 * @throws MillraceError `ENVIRONMENT_INVALID` for an address that is none, a model that is missing, or a key that cannot
 * be sent.
 */
export function chatRuntimeFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  dependencies: OpenAiChatRuntimeDependencies = {},
): ChatRuntime {
  const { CHAT_API_URL: url = '', CHAT_API_KEY: apiKey = '', CHAT_MODEL: model = '' } = env;
  if (url === '') return new DemoChatRuntime({}, dependencies);
  if (!isHttpUrl(url)) throw invalid('CHAT_API_URL', 'an http or https address', url);
  if (model === '') throw invalid('CHAT_MODEL', "a model's name when CHAT_API_URL is set", model);
  if (!isApiKey(apiKey)) throw invalid('CHAT_API_KEY', API_KEY_EXPECTED, '(not shown)');
  return new OpenAiChatRuntime({ url, apiKey, model }, dependencies);
}

const invalid = (variable: string, expected: string, given: string) =>
  ERRORS.create('ENVIRONMENT_INVALID', { variable, expected, given });
