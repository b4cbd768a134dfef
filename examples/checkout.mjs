// A shop hands every order to the front door with a budget of 150 ms: most customers get their answer at once, the slow ones a status
// address, and nobody pays twice, though one of them presses the button three times.
import {
  defineRoutes,
  inline,
  MemoryOperationStore,
  OrchestratorService,
  Outcome,
  RouteExecutor,
} from '@millrace/orchestrator';
import { progressBar } from './progress-bar.mjs';

const ORDERS = 40;
const BUDGET_MS = 150;
let payments = 0;

const routes = defineRoutes({
  'ORDER.PLACE': inline(
    async ({ bizKey, payload }, { attempt }) => {
      // The bank is slow for every fifth order, does not answer the first try of another, and refuses one.
      if (payload.number === 13) return Outcome.fail('CARD_REFUSED', 'The bank refused the card');
      if (payload.number % 10 === 7 && attempt === 1) throw new Error('the bank does not answer');
      await new Promise((resolve) => setTimeout(resolve, payload.number % 5 === 0 ? 400 : 20));
      payments++;
      return { order: bizKey, paid: payload.cents };
    },
    { retry: { retries: 3, backoff: () => 100 } },
  ),
});
const orchestrator = new OrchestratorService({
  executor: new RouteExecutor({ routes }),
  store: new MemoryOperationStore(),
});
await orchestrator.start();

const place = (number) =>
  orchestrator.submit(
    {
      domain: 'ORDER',
      eventType: 'PLACE',
      bizKey: `order-${number}`,
      idemKey: `cart-${number}`,
      payload: { number, cents: 1_000 + number },
    },
    BUDGET_MS,
  );

const numbers = Array.from({ length: ORDERS }, (_, index) => index + 1);
// The customer of order 5 is impatient.
const handles = await Promise.all([...numbers, 5, 5].map(place));
const slow = handles.filter(({ completedFast }) => !completedFast);
console.log(
  `answered within ${BUDGET_MS} ms: ${handles.length - slow.length} of ${handles.length}, the others got an address such as`,
);
console.log(`  ${slow[0].statusUrlOrNull}`);

const bar = progressBar('orders', ORDERS);
const opIds = [...new Set(handles.map(({ opId }) => opId))];
await Promise.all(
  opIds.map(async (opId) => {
    await orchestrator.operations.waitForEnd(opId, 5_000);
    bar.advance();
  }),
);
bar.stop();
const { byState, deadLetters } = await orchestrator.operations.counts();
console.log(
  `${opIds.length} orders, ${payments} payments: ${byState.COMPLETED} completed, ${byState.FAILED} failed`,
);
const { items } = await orchestrator.operations.list({ deadLetter: true });
console.log(
  `${deadLetters} for the clerk: ${items.map(({ bizKey, outcome }) => `${bizKey} (${outcome.message})`).join(', ')}`,
);
await orchestrator.stop();
