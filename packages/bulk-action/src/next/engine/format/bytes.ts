import { crc32 } from 'node:zlib';

/** The stored bytes are damaged, or of a format that this release does not know. */
export class FormatError extends Error {
  override readonly name = 'FormatError';
}

const TAG_UNITS = 64;
/** Texts below this length are mostly ids in ASCII. Their length takes one byte. */
const SHORT = 64;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Writes numbers and texts one after the other. Whole numbers take one byte for each seven bits.
 *
 * ```
 *   version (1 byte) │ … │ CRC-32 (4 bytes)
 * ```
 */
export class ByteWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #at = 0;
  /** The tag that was written last: tags are written as differences. */
  #tag = 0;

  constructor(capacity = 1024) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Begins anew. A writer may be used again and again: a new one for each record took a third of its time. */
  begin(version: number): this {
    this.#at = 0;
    this.#tag = 0;
    this.byte(version);
    return this;
  }

  /** Writes a whole number below 256. */
  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /** Writes a whole number from 0 to 2^53 − 1. */
  count(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest > 0x7fff_ffff) {
      this.#bytes[this.#at++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest > 127) {
      this.#bytes[this.#at++] = (rest & 127) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  /** Writes a whole number that may be negative, from −2^52 to 2^52. */
  integer(value: number): void {
    this.count(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** Writes any number in 8 bytes. */
  float(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Writes any number, a small or whole one in fewer bytes. */
  number(value: number): void {
    if (Number.isSafeInteger(value) && value >= 0 && value < 2 ** 52) this.count(value + 1);
    else {
      this.count(0);
      this.float(value);
    }
  }

  /** Writes a virtual time. Tags written one after the other are alike, and most are multiples of 1/64: two bytes then. */
  tag(value: number): void {
    const units = (value - this.#tag) * TAG_UNITS;
    if (Number.isInteger(units) && Math.abs(units) < 2 ** 50 && this.#tag + units / TAG_UNITS === value)
      this.count(units < 0 ? -2 * units : 2 * units + 1);
    else {
      this.count(0);
      this.float(value);
    }
    this.#tag = value;
  }

  /** Writes a text. */
  text(value: string): void {
    const { length } = value;
    this.#reserve(length + 8);
    const start = this.#at;
    if (length < SHORT) {
      this.#bytes[this.#at++] = length;
      for (let index = 0; index < length; index++) {
        const code = value.charCodeAt(index);
        if (code > 127) {
          this.#at = start;
          break;
        }
        this.#bytes[this.#at++] = code;
      }
      if (this.#at > start) return;
    }
    const encoded = encoder.encode(value);
    this.count(encoded.length);
    this.#reserve(encoded.length);
    this.#bytes.set(encoded, this.#at);
    this.#at += encoded.length;
  }

  /** Appends the checksum and returns all bytes. */
  finish(): Uint8Array {
    this.#reserve(4);
    this.#view.setUint32(this.#at, crc32(this.#bytes.subarray(0, this.#at)), true);
    return this.#bytes.slice(0, this.#at + 4);
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#bytes.length + length));
    larger.set(this.#bytes);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** Reads what a ByteWriter wrote. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #end: number;
  #at = 1;
  #tag = 0;

  /** @throws FormatError if the checksum or the version is wrong. */
  constructor(bytes: Uint8Array, version: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#end = bytes.length - 4;
    if (this.#end < 1 || this.#view.getUint32(this.#end, true) !== crc32(bytes.subarray(0, this.#end)))
      throw new FormatError('The checksum does not match the stored bytes');
    if (bytes[0] !== version) throw new FormatError(`Version ${bytes[0]} is stored, ${version} is known`);
  }

  /** True if everything was read. */
  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  byte(): number {
    const value = this.#at < this.#end ? this.#bytes[this.#at++] : undefined;
    if (value === undefined) throw new FormatError('The stored bytes end too early');
    return value;
  }

  count(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      if (factor >= 2 ** 49) throw new FormatError('A stored number is too long');
    }
  }

  integer(): number {
    const value = this.count();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  float(): number {
    if (this.#at + 8 > this.#end) throw new FormatError('The stored bytes end too early');
    const value = this.#view.getFloat64(this.#at, true);
    this.#at += 8;
    return value;
  }

  number(): number {
    const value = this.count();
    return value === 0 ? this.float() : value - 1;
  }

  tag(): number {
    const code = this.count();
    if (code === 0) this.#tag = this.float();
    else this.#tag += (code % 2 === 1 ? (code - 1) / 2 : -code / 2) / TAG_UNITS;
    return this.#tag;
  }

  text(): string {
    const length = this.count();
    if (this.#at + length > this.#end) throw new FormatError('The stored bytes end too early');
    const start = this.#at;
    this.#at += length;
    return decoder.decode(this.#bytes.subarray(start, this.#at));
  }
}
