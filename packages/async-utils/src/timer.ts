// The platform fires a longer timer after 1 ms instead of waiting.
const TIMER_MAX_MS = 2 ** 31 - 1;

/** `setTimeout` for any duration, Infinity included; clear it with `clearTimeout`. */
export function startTimer(fn: () => void, ms: number): NodeJS.Timeout {
  if (ms <= TIMER_MAX_MS) return setTimeout(fn, ms);
  let turns = Math.ceil(ms / TIMER_MAX_MS);
  const timer = setTimeout(
    () => (--turns > 0 ? timer.refresh() : fn()),
    turns === Infinity ? TIMER_MAX_MS : ms / turns,
  );
  return timer;
}
