/** Version, trace id, parent id, flags; of the version that is forbidden, and of ids of zeros, W3C says that they are none. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Its length; most work has no trace, and what is longer or shorter needs no closer look. */
const LENGTH = 55;

/**
 * The trace that work belongs to, as it stands in log lines.
 * @param traceparent - W3C trace context; it may come from anywhere.
 * @returns 32 hexadecimal digits; undefined for what is no well-formed trace context.
 */
export function traceIdOf(traceparent: string | null | undefined): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length !== LENGTH) return undefined;
  return TRACEPARENT.exec(traceparent)?.[1];
}
