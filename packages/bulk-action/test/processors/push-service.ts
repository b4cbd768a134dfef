import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  verify,
} from 'node:crypto';
import type { PushSubscription } from '../../src/processors/index.js';

/** A browser with its keys: it can make a subscription and read what is sent to it. */
export class Browser {
  readonly #keys: ECDH = createECDH('prime256v1');
  readonly #auth = randomBytes(16);

  constructor() {
    this.#keys.generateKeys();
  }

  /** What it would hand to a website. */
  subscription(endpoint: string): PushSubscription {
    const p256dh = this.#keys.getPublicKey('base64url');
    return { endpoint, keys: { p256dh, auth: this.#auth.toString('base64url') } };
  }

  /** Reads a message as RFC 8291 says, by its own means: what web-push wrote is not read by web-push. */
  read(body: Buffer): unknown {
    const salt = body.subarray(0, 16);
    const keyBytes = body.readUInt8(20);
    const sender = body.subarray(21, 21 + keyBytes);
    const secret = this.#keys.computeSecret(sender);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#keys.getPublicKey(), sender]);
    const shared = Buffer.from(hkdfSync('sha256', secret, this.#auth, info, 32));
    const derive = (what: string, bytes: number) =>
      Buffer.from(hkdfSync('sha256', shared, salt, Buffer.from(`Content-Encoding: ${what}\0`), bytes));
    const record = body.subarray(21 + keyBytes);
    const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
    decipher.setAuthTag(record.subarray(-16));
    const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
    // One record, so its text ends with the mark of the last one and zeros.
    return JSON.parse(String(padded.subarray(0, padded.lastIndexOf(2))));
  }
}

/** What a VAPID header says, if its signature is by the key that it names (RFC 8292). */
export function readVapid(authorization: string): { key: string; claims: Record<string, unknown> } {
  const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(authorization) ?? [];
  const [header = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const publicKey = createPublicKey({
    key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' },
    format: 'jwk',
  });
  const signed = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!signed) throw new Error('the signature is not by this key');
  return { key, claims: JSON.parse(String(Buffer.from(claims, 'base64url'))) };
}
