import { useSyncExternalStore } from 'react';

/** What somebody wants to look at; system: what the machine is set to. */
export type ThemeChoice = 'system' | 'light' | 'dark';
/** What is shown. */
export type Theme = 'light' | 'dark';

const STORED = 'millrace.theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

const isChoice = (value: string | null): value is ThemeChoice =>
  value === 'system' || value === 'light' || value === 'dark';

/** Where nothing can be stored, the choice lasts as long as the page. */
let choice: ThemeChoice = storedChoice();

function storedChoice(): ThemeChoice {
  try {
    const value = localStorage.getItem(STORED);
    return isChoice(value) ? value : 'system';
  } catch {
    return 'system';
  }
}

const shown = (): Theme => (choice === 'system' ? (dark.matches ? 'dark' : 'light') : choice);

function apply(): void {
  document.documentElement.dataset['theme'] = shown();
  for (const listener of listeners) listener();
}

/** Shows the theme that was chosen, and follows the machine where none was. */
export function followTheme(): void {
  dark.addEventListener('change', apply);
  apply();
}

/** Chooses a theme. */
export function chooseTheme(next: ThemeChoice): void {
  choice = next;
  try {
    localStorage.setItem(STORED, next);
  } catch {
    // It is shown all the same.
  }
  apply();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** What is shown now; canvases are drawn again when it changes. */
export const useTheme = (): Theme => useSyncExternalStore(subscribe, shown);

/** What was chosen. */
export const useThemeChoice = (): ThemeChoice => useSyncExternalStore(subscribe, () => choice);
