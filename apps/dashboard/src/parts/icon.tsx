import type { ReactNode } from 'react';

/** Drawn for this page, on a field of 20 × 20. */
const PATHS = {
  overview: 'M3 11h4v6H3zM8 3h4v14H8zM13 7h4v10h-4z',
  groups: 'M3 5.500h9M3 10h14M3 14.500h6M15 4v3M12.500 13v3',
  deadLetters: 'M3 5h14v10H3zM3 6l7 5 7-5',
  batches: 'M3 8h4v4H3zM13 3h4v4h-4zM13 13h4v4h-4zM7 10h3V5h3M10 10v5h3',
  operations: 'M11 2 4.500 11H9l-1 7 6.500-9H10z',
  congestion: 'M3 15a7 7 0 1 1 14 0M10 15l3.500-5',
  chat: 'M3 4h14v9.500H9L5 17v-3.500H3z',
  workers: 'M4 3h12v5H4zM4 12h12v5H4zM7 5.500h.01M7 14.500h.01',
  sun: 'M10 6.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100',
  moon: 'M16.500 12A7 7 0 0 1 8 3.500 7 7 0 1 0 16.500 12z',
  screen: 'M3 4h14v9H3zM7 17h6M10 13v4',
  menu: 'M3 5h14M3 10h14M3 15h14',
  close: 'M5 5l10 10M15 5 5 15',
  left: 'M12 4l-6 6 6 6',
  right: 'M8 4l6 6-6 6',
  down: 'M4 8l6 6 6-6',
  pause: 'M7 4v12M13 4v12',
  play: 'M6 4l10 6-10 6z',
  retry: 'M16 10a6 6 0 1 1-1.800-4.300L16 7.500M16 3.500v4h-4',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  search: 'M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4zM13 13l4 4',
  settings: 'M3 6h7M14 6h3M12 4v4M3 14h3M10 14h7M8 12v4',
  trash: 'M4 6h12M8 6V4h4v2M6 6l.700 10h6.600L14 6',
  key: 'M7.500 9a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM10 11l7-7M14 7l2 2',
  send: 'M3 10 17 4l-5 13-2.500-5.500z',
} as const;

/** The name of a drawing. */
export type IconName = keyof typeof PATHS;

/** A drawing beside words: it says nothing that they do not say. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
