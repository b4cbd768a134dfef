import { describe, expect, it } from 'vitest';
import { drawnBar } from '../../../src/cli/show/drawn-bar.js';

const drawn = (columns: number, note: string, label = 'nightly', labelCharacters = 0) =>
  drawnBar({ label, progress: 0.5, note }, { columns, labelCharacters, colour: (text) => text });
const barOf = (line: string) => /[█░]+/.exec(line)?.[0] ?? '';

describe('a bar', () => {
  it('begins where the others do, behind the longest label of all, and a label is no longer than 24', () => {
    expect(drawn(100, 'n', 'a', 5)).toBe(`a     ${'█'.repeat(15)}${'░'.repeat(15)} 50 %  n`);
    expect(drawn(100, 'n', 'x'.repeat(50))).toMatch(/^x{23}… █/);
  });

  it.each([200, 80, 60, 50])('fits %i columns', (columns) => {
    const note = '21.6 per second, 12 failed, 3 min 20 s left, paused';
    expect(drawn(columns, note).length).toBeLessThan(columns);
    expect(drawn(columns, note)).toContain(note.slice(0, 29));
  });

  it('gives up its length before a word of its note', () => {
    const note = '21.6 per second, 3 min 20 s left';
    expect(barOf(drawn(100, note))).toHaveLength(30);
    expect(drawn(80, note, 'x'.repeat(24))).toContain(note);
    expect(barOf(drawn(80, note, 'x'.repeat(24))).length).toBeGreaterThanOrEqual(10);
    // Not even where there is no room at all.
    expect(drawn(10, note)).toContain(note.slice(0, 29));
  });

  it('is full at the end alone', () => {
    const at = (progress: number) =>
      drawnBar(
        { label: '', progress, note: '' },
        { columns: 80, labelCharacters: 0, colour: (text) => text },
      );
    expect(at(0.999)).toMatch(/░ 99 %/);
    expect(at(1)).toMatch(/█ 100 %/);
    expect(barOf(at(1))).not.toContain('░');
  });
});
