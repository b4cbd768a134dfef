import { request } from 'node:http';
import { Readable } from 'node:stream';

const LINES_PER_CHUNK = 500;

/** What an upload came to. */
export interface Uploaded {
  readonly status: number;
  readonly body: { readonly added?: number; readonly registered?: number };
}

/**
 * Uploads a group as lines of JSON, never holding more of them than one chunk.
 * @param jobs - how many.
 */
export function uploadLines(url: string, group: string, jobs: number): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/api/bulk/groups`,
      { method: 'POST', headers: { 'content-type': 'application/x-ndjson' } },
      async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
      },
    );
    sent.on('error', reject);
    Readable.from(linesOf(group, jobs), { objectMode: false }).pipe(sent);
  });
}

/** A payload of 100 bytes, as in the other benchmarks. */
const PAYLOAD = `{"text":"${'x'.repeat(89)}"}`;

function* linesOf(group: string, jobs: number): Generator<string> {
  yield `{"id":"${group}"}\n`;
  for (let from = 0; from < jobs; from += LINES_PER_CHUNK) {
    let chunk = '';
    for (let n = from; n < Math.min(jobs, from + LINES_PER_CHUNK); n++)
      chunk += `{"id":"job-${String(n).padStart(12, '0')}","processorType":"bench.noop","payload":${PAYLOAD}}\n`;
    yield chunk;
  }
}
