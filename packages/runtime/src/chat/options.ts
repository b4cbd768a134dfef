import {
  durationOption,
  integerOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
} from '@millrace/foundation';

/** The settings of a ChatService, complete. */
export interface ResolvedChatServiceOptions {
  /** The longest message. */
  readonly messageCharactersMax: number;
  /** The most sessions that one list holds. */
  readonly listMax: number;
  /** What a caller is told to wait when the queue is full. */
  readonly queueFullRetryMs: number;
}

/** The settings of a ChatService as given. */
export type ChatServiceOptions = PartialOptions<ResolvedChatServiceOptions>;

/** What holds when nothing is given. */
export const CHAT_SERVICE_DEFAULTS: ResolvedChatServiceOptions = Object.freeze({
  messageCharactersMax: 100_000,
  listMax: 100,
  queueFullRetryMs: 2000,
});

const SPEC: OptionSpec<ResolvedChatServiceOptions> = {
  owner: 'ChatService',
  defaults: CHAT_SERVICE_DEFAULTS,
  rules: {
    messageCharactersMax: integerOption({ min: 1 }),
    listMax: integerOption({ min: 1 }),
    queueFullRetryMs: durationOption({ min: 1 }),
  },
};

/**
 * Completes the settings of a ChatService and refuses what is wrong.
 * @returns the settings, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolveChatServiceOptions = (given?: ChatServiceOptions): ResolvedChatServiceOptions =>
  resolveOptions(SPEC, given);
