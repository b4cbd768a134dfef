/// <reference lib="dom" />

/** What a page knows of its own paints, as far as it was looked at. Times in milliseconds since it was opened. */
export interface Watch {
  /** Paints of the first text or picture, and of the largest so far. */
  first: number;
  largest: number;
  /** When the first input came since the last look; 0: none has. */
  inputAt: number;
  /** The longest since the last look that an input waited for the paint after it; what took less than 16 ms is 0. */
  longestInput: number;
  /** Tasks since the last look during which the page could answer no input: those above 50 ms. */
  longTasks: number[];
}

declare global {
  var benchWatch: Watch;
}

/** Runs in the page before its own code does: notes paints, inputs and long tasks. */
export function watchPage(): void {
  const watch: Watch = { first: 0, largest: 0, inputAt: 0, longestInput: 0, longTasks: [] };
  globalThis.benchWatch = watch;
  const observe = (type: string, note: (entry: PerformanceEntry) => void, more: object = {}) =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) note(entry);
    }).observe({ type, buffered: true, ...more });
  observe('paint', ({ name, startTime }) => {
    if (name === 'first-contentful-paint') watch.first = startTime;
  });
  observe('largest-contentful-paint', ({ startTime }) => {
    watch.largest = startTime;
  });
  observe('longtask', ({ duration }) => watch.longTasks.push(duration));
  // Those without an id belong to no interaction: a pointer that passes over something.
  const noteInput = (entry: PerformanceEntry) => {
    const { interactionId } = entry as PerformanceEventTiming & { readonly interactionId: number };
    if (interactionId > 0) watch.longestInput = Math.max(watch.longestInput, entry.duration);
  };
  observe('event', noteInput, { durationThreshold: 16 });
  const listen = (type: string, note: (at: number) => void) =>
    addEventListener(type, ({ timeStamp }) => note(timeStamp), { capture: true, passive: true });
  for (const type of ['pointerdown', 'keydown', 'wheel'])
    listen(type, (at) => {
      watch.inputAt ||= at;
    });
  // Of scrolling the browser tells nothing: a task that comes after the next frame comes after its paint.
  listen('wheel', (at) =>
    requestAnimationFrame(() =>
      setTimeout(() => {
        watch.longestInput = Math.max(watch.longestInput, performance.now() - at);
      }),
    ),
  );
}

/** Runs in the page: forgets inputs and long tasks so far. */
export function lookAgain(): void {
  Object.assign(globalThis.benchWatch, { inputAt: 0, longestInput: 0, longTasks: [] });
}

/** Runs in the page: how long ago the first input came since the last look. */
export const sinceInput = (): number => performance.now() - globalThis.benchWatch.inputAt;

/** Runs in the page: what it knows when everything so far has been painted, and the browser has told of it. */
export async function settledWatch(): Promise<Watch> {
  for (let frame = 0; frame < 3; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  await new Promise((resolve) => setTimeout(resolve, 50));
  return globalThis.benchWatch;
}
