/** How much somebody gets, and how much they may; null: no limit. */
export interface Limits {
  readonly weight: number;
  readonly rps: number | null;
  readonly burst: number | null;
  readonly concurrency: number | null;
}

/** The same as somebody types it; '' is no limit. */
export type TypedLimits = Readonly<Record<keyof Limits, string>>;

/** What is to be changed; null takes a limit away. */
export type LimitsChange = { -readonly [Name in keyof Limits]?: Limits[Name] };

const TAKEN_AWAY = ['rps', 'burst', 'concurrency'] as const;

/** Limits, ready to be typed over. */
export const typedLimits = ({ weight, rps, burst, concurrency }: Limits): TypedLimits => ({
  weight: String(weight),
  rps: String(rps ?? ''),
  burst: String(burst ?? ''),
  concurrency: String(concurrency ?? ''),
});

/**
 * What somebody has changed, and nothing else: what others change at the same time stays.
 * @param before - the limits that were shown when they began.
 * @param typed - what they made of them; whether the numbers make sense, the server judges.
 */
export function limitsChange(before: Limits, typed: TypedLimits): LimitsChange {
  const change: LimitsChange = {};
  // A weight cannot be taken away: an empty field leaves it as it is.
  if (typed.weight.trim() !== '' && Number(typed.weight) !== before.weight)
    change.weight = Number(typed.weight);
  for (const name of TAKEN_AWAY) {
    const wanted = typed[name].trim() === '' ? null : Number(typed[name]);
    if (wanted !== before[name]) change[name] = wanted;
  }
  return change;
}

/** A weight or a limit as somebody gave it: `1`, `2.5`, `0.001`. */
export const weightText = (given: number): string => (given < 1 ? String(given) : grouped.format(given));

const grouped = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 4 });

/** Limits in few words, each by itself: `10/s, burst 2` and `4 at once`. The weight is not one. */
export const limitTexts = ({ rps, burst, concurrency }: Omit<Limits, 'weight'>): readonly string[] => [
  ...(rps === null ? [] : [`${weightText(rps)}/s${burst === null ? '' : `, burst ${weightText(burst)}`}`]),
  ...(concurrency === null ? [] : [`${weightText(concurrency)} at once`]),
];
