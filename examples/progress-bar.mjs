import { SingleBar } from 'cli-progress';

/** A bar on a terminal; a line for each quarter where there is none. */
export function progressBar(label, total) {
  let done = 0;
  if (!process.stdout.isTTY) {
    return {
      advance() {
        done++;
        if (done % Math.ceil(total / 4) === 0 || done === total)
          console.log(`  ${label}: ${done} of ${total}`);
      },
      stop() {},
    };
  }
  const bar = new SingleBar({
    format: `  ${label} {bar} {value}/{total} {duration} s`,
    barsize: 40,
    barCompleteChar: '█',
    barIncompleteChar: '░',
  });
  bar.start(total, 0);
  return { advance: () => bar.increment(), stop: () => bar.stop() };
}
