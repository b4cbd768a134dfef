/** One server-sent event. */
export interface ServerEvent {
  readonly type: string;
  readonly data: string;
}

/**
 * Reads server-sent events from the body of an answer; the body is cancelled when nobody reads on.
 * @param body - in UTF-8.
 * @param onChunk - called whenever something arrives, a keep-alive comment too.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onChunk: () => void,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let type = 'message';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk();
      text += decoder.decode(value, { stream: true });
      // The last line may not be whole yet; nor may a CR be, whose LF comes with the next chunk.
      const lines = text.split(/\r\n|\n|\r(?!$)/);
      text = lines.pop() ?? '';
      for (const line of lines) {
        const [, field, rest = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
        if (field === 'event') type = rest;
        else if (field === 'data') data.push(rest);
        else if (line === '') {
          if (data.length > 0) yield { type, data: data.join('\n') };
          type = 'message';
          data = [];
        }
      }
    }
  } finally {
    // Not awaited: a connection that hangs must not hold up who has read enough.
    reader.cancel().catch(() => {});
  }
}
