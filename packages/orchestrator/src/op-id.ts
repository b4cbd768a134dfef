import { type Clock, ERRORS as FOUNDATION_ERRORS, printable, type Rng } from '@millrace/foundation';
import { v7 } from 'uuid';

declare const OP_ID: unique symbol;

/** The id of an operation: a UUID in lower case. */
export type OpId = string & { readonly [OP_ID]: true };

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Makes and parses ids of operations. */
export const OpId = Object.freeze({
  /** Reports whether a text is an id in lower case, as it is stored. */
  is(text: string): text is OpId {
    return UUID.test(text);
  },

  /**
   * Parses an id in any case.
   * @throws MillraceError `ID_INVALID`.
   */
  of(text: string): OpId {
    const id = typeof text === 'string' ? text.toLowerCase() : '';
    if (OpId.is(id)) return id;
    throw FOUNDATION_ERRORS.create('ID_INVALID', {
      kind: 'opId',
      expected: 'a UUID',
      given: `'${printable(text)}'`,
    });
  },

  /** Makes a UUID of version 7, so that indexes grow in the order of arrival. */
  next(clock: Clock, rng: Rng): OpId {
    const random = new Uint8Array(16);
    for (let at = 0; at < random.length; at += 4) {
      const word = rng.integer(0, 0xffff_ffff);
      random.set([word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24], at);
    }
    return v7({ msecs: clock.now(), random }) as OpId;
  },
});
