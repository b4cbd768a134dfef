import { openStage, type Stage } from './dashboard/stage.js';
import { visitGauge } from './dashboard/visit-gauge.js';
import { DEAD_LETTERS_WALK, GROUPS_WALK, VIEWS_WALK } from './dashboard/walks.js';
import { registerBench } from './registry.js';

const FULL = { groups: 10_000, deadLetters: 100_000 };
const FEW = { groups: 200, deadLetters: 2_000 };
const LOOKS_MS = 10_000;

let stage: Promise<Stage> | undefined;

/** Filled once; alive whenever it is looked at. */
const staged = (amounts: typeof FULL) => async () => {
  stage ??= openStage(amounts);
  const ready = await stage;
  await ready.enliven();
  return ready;
};

registerBench({
  name: 'dashboard',
  settings: [
    `an embedded server with ${FULL.groups.toLocaleString('en')} groups, one in ten not ended, and ${FULL.deadLetters.toLocaleString('en')} dead letters of 6 causes, while the demo runs (smoke: ${FEW.groups} and ${FEW.deadLetters.toLocaleString('en')})`,
    'Chromium, headless, 1280 × 900; each run is a new visitor. Painted: from the input to the paint after it (Event Timing), 0 below 16 ms',
  ],
  pairs: 5,
  warmUps: 0,
  rows: () => [],
  gauges({ smoke }) {
    const ready = staged(smoke ? FEW : FULL);
    return [VIEWS_WALK, GROUPS_WALK, DEAD_LETTERS_WALK].map((walk) =>
      visitGauge(ready, walk, smoke ? 0 : LOOKS_MS),
    );
  },
  async close() {
    await (await stage)?.close();
  },
});
