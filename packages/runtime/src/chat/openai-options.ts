import {
  durationOption,
  ERRORS,
  integerOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  textOption,
} from '@millrace/foundation';

/** The settings of an OpenAiChatRuntime, complete. */
export interface ResolvedOpenAiChatRuntimeOptions {
  /** The base (`https://api.openai.com/v1`) or the whole address ending in `/chat/completions`. */
  readonly url: string;
  /** What answers, as the service calls it. */
  readonly model: string;
  /** Sent as a bearer token; '' = none. */
  readonly apiKey: string;
  /** Stands before every conversation; '' = none. */
  readonly systemPrompt: string;
  /** How many of the latest messages go with a turn. */
  readonly historyMessagesMax: number;
  /** How long the endpoint may be silent, before its answer begins and between two pieces of it. */
  readonly idleTimeoutMs: number;
  /** The longest line of the answer's event stream. */
  readonly lineCharactersMax: number;
  /** How much of an error's body is read. */
  readonly errorBytesMax: number;
}

/** The settings of an OpenAiChatRuntime as given: `url` and `model` have no default. */
export type OpenAiChatRuntimeOptions = Pick<ResolvedOpenAiChatRuntimeOptions, 'url' | 'model'> &
  PartialOptions<ResolvedOpenAiChatRuntimeOptions>;

/** What holds when nothing is given. */
export const OPENAI_CHAT_RUNTIME_DEFAULTS: Omit<ResolvedOpenAiChatRuntimeOptions, 'url' | 'model'> =
  Object.freeze({
    apiKey: '',
    systemPrompt: '',
    historyMessagesMax: 100,
    idleTimeoutMs: 60_000,
    lineCharactersMax: 1_000_000,
    errorBytesMax: 16_384,
  });

/** Whether a text is the address of something that speaks HTTP. */
export const isHttpUrl = (text: unknown): text is string =>
  typeof text === 'string' && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

/** What an API key looks like, for messages. */
export const API_KEY_EXPECTED = 'printable characters without spaces';

/**
 * Whether a key can stand in a header. A line break at its end, the usual slip, would fail much later, inside fetch.
 */
export const isApiKey = (text: string): boolean => /^[\x21-\x7e]*$/.test(text);

const SPEC: OptionSpec<ResolvedOpenAiChatRuntimeOptions> = {
  owner: 'OpenAiChatRuntime',
  defaults: OPENAI_CHAT_RUNTIME_DEFAULTS,
  rules: {
    url: { expected: 'an http or https address', accepts: isHttpUrl },
    model: textOption(),
    apiKey: textOption({ min: 0 }),
    systemPrompt: textOption({ min: 0 }),
    historyMessagesMax: integerOption({ min: 0 }),
    idleTimeoutMs: durationOption({ min: 1 }),
    lineCharactersMax: integerOption({ min: 1 }),
    errorBytesMax: integerOption({ min: 0 }),
  },
  relations: [
    { option: 'url', expected: 'an http or https address', holds: ({ url }) => url !== undefined },
    { option: 'model', expected: "a model's name", holds: ({ model }) => model !== undefined },
  ],
};

/**
 * Completes the settings of an OpenAiChatRuntime and refuses what is wrong.
 * @returns the settings, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolveOpenAiChatRuntimeOptions(
  given: OpenAiChatRuntimeOptions,
): ResolvedOpenAiChatRuntimeOptions {
  const resolved = resolveOptions(SPEC, given);
  if (isApiKey(resolved.apiKey)) return resolved;
  // Not a rule of SPEC: its message would print the key.
  const details = { owner: SPEC.owner, option: 'apiKey', expected: API_KEY_EXPECTED, given: '(not shown)' };
  throw ERRORS.create('OPTION_INVALID', details);
}
