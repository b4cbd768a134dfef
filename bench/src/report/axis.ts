const STEPS = [1, 2, 5];

/** A round distance of axis marks, with at most `count` of them. */
export function markDistance(highest: number, count: number): number {
  for (let power = 0.1; ; power *= 10)
    for (const step of STEPS)
      if (highest / (step * power) <= count) return Number((step * power).toPrecision(1));
}
