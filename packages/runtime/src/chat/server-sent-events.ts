/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** `message` unless the server named another. */
  readonly event: string;
  readonly data: string;
}

/** How much of one event is held before its end has come. */
export interface EventStreamLimits {
  readonly lineCharactersMax: number;
  readonly eventCharactersMax: number;
}

/** Thrown for an event stream that exceeds a limit. */
class EventStreamTooLong extends Error {
  override readonly name = 'EventStreamTooLong';
}

const LINE_END = /\r\n|\n|\r/g;

/**
 * Reads a `text/event-stream` as it arrives, by the rules of the HTML standard: bytes may be cut anywhere, also inside
 * a character or between CR and LF; lines end with LF, CR or both; comments and unknown fields are passed over.
 */
export class EventStreamDecoder {
  readonly #limits: EventStreamLimits;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #afterCr = false;
  #event = '';
  #data: string[] = [];
  #dataCharacters = 0;

  constructor(limits: EventStreamLimits) {
    this.#limits = limits;
  }

  /**
   * Takes the next bytes.
   * @returns the events they complete.
   * @throws EventStreamTooLong when a line or an event is longer than its limit.
   */
  push(bytes: Uint8Array): ServerSentEvent[] {
    return this.#take(this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * Ends the stream. The standard drops an event without its blank line; it is given out here, since some servers
   * end with a bare `data: [DONE]`.
   * @returns the events that were still open.
   * @throws EventStreamTooLong as `push`.
   */
  end(): ServerSentEvent[] {
    return this.#take(`${this.#decoder.decode()}\n\n`);
  }

  #take(text: string): ServerSentEvent[] {
    // The LF of a CRLF that was cut in two would otherwise be an empty line of its own, which ends an event.
    const skipped = this.#afterCr && text.startsWith('\n') ? 1 : 0;
    if (text !== '') this.#afterCr = text.endsWith('\r');
    const events: ServerSentEvent[] = [];
    let from = skipped;
    for (const { 0: lineEnd, index } of text.matchAll(LINE_END)) {
      if (index < skipped) continue;
      this.#line(this.#rest + text.slice(from, index), events);
      this.#rest = '';
      from = index + lineEnd.length;
    }
    this.#rest += text.slice(from);
    this.#refuseLongLine(this.#rest);
    return events;
  }

  #line(line: string, events: ServerSentEvent[]): void {
    this.#refuseLongLine(line);
    if (line === '') {
      if (this.#data.length > 0)
        events.push({ event: this.#event || 'message', data: this.#data.join('\n') });
      this.#event = '';
      this.#data = [];
      this.#dataCharacters = 0;
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') this.#event = value;
    if (field !== 'data') return;
    this.#data.push(value);
    // Counted with its line break: a million empty lines are an event too long as well.
    this.#dataCharacters += value.length + 1;
    const max = this.#limits.eventCharactersMax;
    if (this.#dataCharacters > max) {
      throw new EventStreamTooLong(`an event of the stream is longer than ${max} characters`);
    }
  }

  #refuseLongLine(line: string): void {
    const max = this.#limits.lineCharactersMax;
    if (line.length > max)
      throw new EventStreamTooLong(`a line of the stream is longer than ${max} characters`);
  }
}
