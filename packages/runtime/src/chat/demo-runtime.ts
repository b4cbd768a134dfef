import {
  type Clock,
  durationOption,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  sleep,
  systemClock,
} from '@millrace/foundation';
import type { ChatRuntime, ChatTurn } from './ports.js';

/** The settings of a DemoChatRuntime, complete. */
export interface ResolvedDemoChatRuntimeOptions {
  /** Pause before each word, so that one can see it stream. */
  readonly tokenDelayMs: number;
}

/** The settings of a DemoChatRuntime as given. */
export type DemoChatRuntimeOptions = PartialOptions<ResolvedDemoChatRuntimeOptions>;

/** What holds when nothing is given. */
export const DEMO_CHAT_RUNTIME_DEFAULTS: ResolvedDemoChatRuntimeOptions = Object.freeze({ tokenDelayMs: 30 });

const SPEC: OptionSpec<ResolvedDemoChatRuntimeOptions> = {
  owner: 'DemoChatRuntime',
  defaults: DEMO_CHAT_RUNTIME_DEFAULTS,
  rules: { tokenDelayMs: durationOption() },
};

const QUOTED_CHARACTERS_MAX = 500;

/** Answers without any model, and says so: shows lanes and streams with nothing installed. */
export class DemoChatRuntime implements ChatRuntime {
  readonly #options: ResolvedDemoChatRuntimeOptions;
  readonly #clock: Clock;

  /** @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor(
    options?: DemoChatRuntimeOptions,
    { clock = systemClock }: { readonly clock?: Clock | undefined } = {},
  ) {
    this.#options = resolveOptions(SPEC, options);
    this.#clock = clock;
  }

  /**
   * Repeats the message, word by word.
   * @param turn - only its message and the number of messages before it matter here.
   */
  async *processEnqueuedTurn({
    message,
    history,
    signal,
  }: ChatTurn): AsyncGenerator<string, void, undefined> {
    const said =
      message.length > QUOTED_CHARACTERS_MAX ? `${message.slice(0, QUOTED_CHARACTERS_MAX)}…` : message;
    const answer =
      'This is the demo runtime of Millrace: no language model is connected ' +
      '(set CHAT_API_URL, CHAT_API_KEY and CHAT_MODEL to connect one). ' +
      `Before this turn there were ${history.length} messages. You said: ${said}`;
    for (const word of answer.match(/\s*\S+/g) ?? []) {
      const { tokenDelayMs } = this.#options;
      if (tokenDelayMs > 0) await sleep(this.#clock, tokenDelayMs, signal);
      if (signal.aborted) return;
      yield word;
    }
  }
}
