/** Injection token of the Database that the outbox works on: for `pusher.start(…, { tx })` in a transaction of your own. */
export const OUTBOX_DATABASE = Symbol('OUTBOX_DATABASE');
