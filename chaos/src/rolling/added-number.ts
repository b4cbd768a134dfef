/**
 * A number in a packed record, found by its name: the rest of the record is the engine's business.
 * @returns undefined when there is no such number.
 */
export function addedNumber(value: Buffer, name: string): number | undefined {
  const found = value.indexOf(name, 0, 'latin1');
  if (found < 0) return undefined;
  const at = found + name.length;
  const kind = value[at];
  if (kind === undefined) return undefined;
  if (kind < 0x80) return kind;
  if (kind === 0xcc) return value.readUInt8(at + 1);
  if (kind === 0xcd) return value.readUInt16BE(at + 1);
  return kind === 0xce ? value.readUInt32BE(at + 1) : undefined;
}
