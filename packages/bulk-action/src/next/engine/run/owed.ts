import { decide } from '../changes/apply-change.js';
import { askFor, dropChunk } from '../fair/window.js';
import { bodyAt } from '../format/chunk.js';
import { outcomeAt } from '../format/line.js';
import { fitsEnd, writeLetter } from '../results/job-end.js';
import { keepLine } from '../results/round.js';
import type { Chunk } from '../state/chunks.js';
import { firstPosition } from '../state/position.js';
import type { Group } from '../state/records.js';
import type { EngineState } from '../state/state.js';

const MESSAGE = 'The round of its group ended before the job, which had been redriven';

/**
 * Redriven jobs that had not ended when their round failed become dead letters again: redriving never destroys a letter. Their
 * chunks may have to be loaded first.
 */
export function returnOwedLetters(state: EngineState): void {
  for (const group of state.owing) {
    for (const address of group.kept?.owed ?? []) {
      const chunk = group.chunks.get(address);
      if (!chunk || chunk.isEvicted) askFor(state, group, address);
      else if (fitsEnd(state, chunk.lines.join())) returnLetters(state, group, chunk);
    }
    if (!group.kept?.owed.size) state.owing.delete(group);
  }
}

function returnLetters(state: EngineState, group: Group, chunk: Chunk): void {
  const { address, lines } = chunk;
  const outcomes = group.outcomes.get(address);
  const error = { code: group.code ?? 'GROUP_TIMEOUT', message: MESSAGE };
  const counts = {
    attempts: 0,
    retryCount: 0,
    orphanCount: 0,
    countedAs: 'cancelled',
    isDetailed: false,
  } as const;
  let letters = 0;
  lines.forEach((_, index) => {
    const body = bodyAt(chunk, index);
    if (!body || (outcomes && outcomeAt(outcomes, index))) return;
    writeLetter(state, group, firstPosition(address) + index, body, error, counts);
    letters += 1;
  });
  keepLine(state, group, chunk);
  dropChunk(state, group, address);
  decide(state, { kind: 'letters-returned', group, address, letters });
  state.drops.push({ group, address });
}
