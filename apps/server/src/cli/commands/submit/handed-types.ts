import { StringDecoder } from 'node:string_decoder';

/** Where a line most likely names its processor; the line is parsed only for a name that is new. */
const TYPE = /"processorType"\s*:\s*"((?:[^"\\]|\\.){1,300})"/;
const TYPES_MAX = 100;
/** A longer line is not looked at: no server takes it. */
const LINE_CHARACTERS_MAX = 4_000_000;

/** Learns which processors the jobs of a body name, while it is sent. */
export class HandedTypes {
  readonly #decoder = new StringDecoder('utf8');
  readonly #seen = new Set<string>();
  readonly #types = new Set<string>();
  #rest = '';

  /** Looks at a piece of the body. */
  take(piece: string | Uint8Array): void {
    const text = typeof piece === 'string' ? piece : this.#decoder.write(Buffer.from(piece));
    const lines = (this.#rest + text).split('\n');
    const last = lines.pop() ?? '';
    this.#rest = last.length > LINE_CHARACTERS_MAX ? '' : last;
    for (const line of lines) this.#look(line);
  }

  /** The types that were named; the first 100 of them. */
  types(): readonly string[] {
    this.#look(this.#rest);
    return [...this.#types];
  }

  #look(line: string): void {
    const named = TYPE.exec(line)?.[1];
    if (named === undefined || this.#seen.has(named) || this.#seen.size === TYPES_MAX) return;
    this.#seen.add(named);
    const type = typeOf(line);
    if (type !== undefined) this.#types.add(type);
  }
}

/** The text may have been found in a payload. */
function typeOf(line: string): string | undefined {
  try {
    const { processorType } = JSON.parse(line) as Record<string, unknown>;
    return typeof processorType === 'string' ? processorType : undefined;
  } catch {
    return undefined;
  }
}
