import { ByteWriter } from '../../../src/next/engine/format/bytes.js';
import { packRecord } from '../../../src/next/engine/format/record.js';
import type { EngineState } from '../../../src/next/engine/state/state.js';

/** Everything durable, as it would be stored. */
export function image(state: EngineState): Map<string, string> {
  const records = [...state.byNumber.values()].map((record) =>
    packRecord(new ByteWriter(), state, record, 0),
  );
  return new Map(records.map(({ key, bytes }) => [key, Buffer.from(bytes).toString('hex')] as const).sort());
}
