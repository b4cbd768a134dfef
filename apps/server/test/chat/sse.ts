/** One event of a stream, as it was sent. */
export interface Heard {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is what it checks.
  readonly data?: any;
}

/** A stream that a test listens to. */
export interface Listening {
  readonly response: Response;
  /** The next event, comments left out; undefined at the end. */
  next(): Promise<Heard | undefined>;
  /** All that are left. */
  rest(): Promise<Heard[]>;
  /** Goes away. */
  leave(): void;
}

/** Listens to a stream of events. */
export async function listen(url: string, headers: Record<string, string> = {}): Promise<Listening> {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  const events = heard(response.body as ReadableStream<Uint8Array>);
  const next = async () => (await events.next()).value ?? undefined;
  const rest = async () => {
    const all: Heard[] = [];
    for await (const event of events) all.push(event);
    return all;
  };
  return { response, next, rest, leave: () => leaving.abort() };
}

async function* heard(body: ReadableStream<Uint8Array>): AsyncGenerator<Heard, void, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    const blocks = (text + decoder.decode(chunk, { stream: true })).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) if (!block.startsWith(':')) yield eventOf(block);
  }
}

function eventOf(block: string): Heard {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
  return { ...fields, data: JSON.parse(fields.data) };
}
