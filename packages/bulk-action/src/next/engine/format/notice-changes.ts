import type { ClockJumped, NoticeAnswered } from '../state/change.js';
import type { CommandResult, Nonces, RefusalCode } from '../state/message.js';
import type { ByteReader, ByteWriter } from './bytes.js';
import { type ChangeCodec, pick } from './note-stream.js';

const RESULTS = ['done', 'not-found', 'ended', 'refused'] as const;

const answered: ChangeCodec<NoticeAnswered> = {
  write(out, { instanceId, nonce, result }) {
    out.instance(instanceId);
    out.bytes.count(nonce);
    writeResult(out.bytes, result);
  },
  read: (from) => ({
    instanceId: from.instance(),
    nonce: from.bytes.count(),
    result: readResult(from.bytes),
  }),
};

const clock: ChangeCodec<ClockJumped> = {
  write(out, { atUs, deltaUs }) {
    out.time(atUs);
    out.bytes.integer(deltaUs);
  },
  read: (from) => ({ atUs: from.time(), deltaUs: from.bytes.integer() }),
};

/** Changes that follow from notices and from the clock. */
export const NOTICE_CHANGES = { answered, clock };

function writeResult(out: ByteWriter, result: CommandResult): void {
  out.byte(RESULTS.indexOf(result.kind));
  if (result.kind === 'refused') out.text(result.code);
}

function readResult(from: ByteReader): CommandResult {
  const kind = pick(RESULTS, from.byte());
  return kind === 'refused' ? { kind, code: from.text() as RefusalCode } : { kind };
}

/** Writes the nonces of all instances. */
export function packNonces(out: ByteWriter, { byInstance }: Nonces): void {
  out.count(byInstance.size);
  for (const [instanceId, results] of byInstance) {
    out.text(instanceId);
    out.count(results.size);
    for (const [nonce, result] of results) {
      out.count(nonce);
      writeResult(out, result);
    }
  }
}

export function unpackNonces(nonces: Nonces, from: ByteReader): void {
  for (let instances = from.count(); instances > 0; instances--) {
    const instanceId = from.text();
    for (let left = from.count(); left > 0; left--) nonces.add(instanceId, from.count(), readResult(from));
  }
}
