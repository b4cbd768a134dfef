import type { Settlement } from '../ports.js';
import { settlementMark, toEndingText, toOutcomeText } from '../stored-json.js';
import type { WrittenSettlement } from './settle-operation.js';

/**
 * A settlement as every store writes it.
 * @param by - the token of the try, or `backing` for the end of the work behind an operation.
 * @throws MillraceError `OUTCOME_INVALID`.
 */
export function writtenSettlement(by: number | 'backing', settlement: Settlement): WrittenSettlement {
  const outcomeText =
    settlement.kind === 'final'
      ? toEndingText(settlement)
      : settlement.kind === 'retry'
        ? toOutcomeText(settlement.outcome)
        : undefined;
  return { settlement, outcomeText, mark: settlementMark(by, settlement, outcomeText) };
}
