/** What a thread does when only the way there and back is measured. */
export const noop = (): void => {};
