import { defineProcessor } from '@millrace/bulk-action';

/** Clears the screen of a terminal that obeys, and writes backwards. */
export const HOSTILE = 'refused \u001b[2J\u202e';
/** The same as it may be shown. */
export const SHOWN = 'refused \\u001b[2J\\u202e';

/** Ends well, with what it was given. */
export const echo = defineProcessor({
  type: 'echo',
  process: ({ payload }) => ({ success: true, data: payload }),
});

/** Fails for good at once, with a hostile message. */
export const fail = defineProcessor({
  type: 'fail',
  retry: { retries: 0 },
  process: () => {
    throw new Error(HOSTILE);
  },
});
