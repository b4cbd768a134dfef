import { defineProcessor } from '@millrace/bulk-action';
import { defineApp } from 'millrace';

/** Whatever their number, the dead letters are so many causes: what differs between two of a cause is masked. */
const CAUSES = [
  { code: 'CARD_EXPIRED', message: 'The card of customer {n} has expired' },
  { code: 'NO_SUCH_ADDRESS', message: 'Nobody lives at address {n}' },
  { code: 'LEDGER_LOCKED', message: 'The ledger of account {n} is locked by request {n}' },
  { code: 'PRINTER_OUT', message: 'Printer {n} has no paper for page {n}' },
  { code: 'QUOTA_SPENT', message: 'Customer {n} has no more than {n} letters a day' },
  { code: 'TOO_HEAVY', message: 'Parcel {n} is too heavy for van {n}' },
] as const;

interface Numbered {
  readonly n: number;
}

/** The application of the benchmark: work that dies at the first try, and work that takes a moment. */
export const app = defineApp({
  processors: [
    defineProcessor<Numbered>({
      type: 'bench.die',
      retry: { retries: 0 },
      process({ payload: { n } }) {
        const { code, message } = CAUSES[n % CAUSES.length] as (typeof CAUSES)[number];
        // Only what might have gone well at another try is kept as a dead letter.
        const error = { code, message: message.replaceAll('{n}', String(n)), retryable: true };
        return { success: false, error } as const;
      },
    }),
    defineProcessor<Numbered>({ type: 'bench.work', process: ({ payload: { n } }) => ({ n }) }),
  ],
});
