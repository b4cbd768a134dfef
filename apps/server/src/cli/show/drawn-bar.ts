import { shortened } from './text.js';

/** What a bar is drawn from; the texts hold nothing that a terminal obeys. */
export interface DrawnBar {
  readonly label: string;
  /** From 0 to 1. */
  readonly progress: number;
  /** Behind the bar. */
  readonly note: string;
}

/** Where it is drawn. */
export interface BarPlace {
  /** Of the terminal. */
  readonly columns: number;
  /** The longest label of all bars below each other: they begin in one column. */
  readonly labelCharacters: number;
  /** Colours the bar. */
  readonly colour: (text: string) => string;
}

const LABEL_CHARACTERS_MAX = 24;
const BAR_CHARACTERS_MAX = 30;
/** A shorter bar shows nothing; the note gives way first, as far as it may. */
const BAR_CHARACTERS_MIN = 10;
const NOTE_CHARACTERS_MIN = 30;
/** Spaces and the percentage: ` ` bar ` 100 %  `. */
const FRAME_CHARACTERS = 1 + 1 + '100 %'.length + 2;

/**
 * A bar on one line, no wider than the terminal where that is possible: first the bar gives way, then the note, down to 30 characters.
 */
export function drawnBar({ label, progress, note }: DrawnBar, place: BarPlace): string {
  const labelWidth = Math.min(LABEL_CHARACTERS_MAX, Math.max(place.labelCharacters, label.length));
  // The last column stays free: some terminals begin a new line when it is used.
  const room = place.columns - 1 - labelWidth - FRAME_CHARACTERS;
  const noteRoom = Math.max(NOTE_CHARACTERS_MIN, room - BAR_CHARACTERS_MIN);
  const shownNote = shortened(note, noteRoom);
  const barWidth = Math.min(BAR_CHARACTERS_MAX, Math.max(1, room - shownNote.length));
  const full = Math.floor(Math.min(1, Math.max(0, progress)) * barWidth);
  const bar = place.colour('█'.repeat(full) + '░'.repeat(barWidth - full));
  const percentage = `${Math.floor(progress * 100)} %`;
  return `${shortened(label, labelWidth).padEnd(labelWidth)} ${bar} ${percentage}  ${shownNote}`;
}
