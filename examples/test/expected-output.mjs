/** What each example must print. An example without an entry fails. */
export const EXPECTED = {
  'campaign.mjs': [
    /acme-spring {2,}360 of 400 sent, 40 bounced/,
    /corner-shop-spring +18 of 20 sent, 2 bounced/,
    /the service refused \d+ of \d+ calls/,
  ],
  'chat-lanes.mjs': [
    /Ada: \d+ tokens … Before this turn there were 0 messages/,
    /Grace: .* there were 2 messages/,
  ],
  'checkout.mjs': [
    /answered within 150 ms: \d+ of 42, the others got an address such as/,
    /\/api\/operations\/[0-9a-f-]{36}\/status/,
    /orders: 40 of 40/,
    /40 orders, 39 payments: 39 completed, 1 failed/,
    /1 for the clerk: order-13 \(The bank refused the card\)/,
  ],
  'flaky-service.mjs': [/answered {12}400 of 400/, /answered: 100 of 400/],
  'settle-day.mjs': [
    /settle-day\.load-harbour failed and is tried again/,
    /steps: 8 of 8/,
    /batch \d+ is DONE: 7 steps done, 1 skipped, 1 retried/,
    /asked for twice, started 1 time/,
    /1 report: 2026-07-27, 3 shops, 297\.00/,
  ],
  'traced-retry.mjs': [/GET \/report .*"retry".*"attempts":2.*"OK"/, /GET \/gone .*"ERROR"/],
};
