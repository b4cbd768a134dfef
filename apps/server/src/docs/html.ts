/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

/** What can stand in HTML: HTML, a text that is escaped, nothing, or many of these. */
export type Inset = Html | string | number | false | undefined | readonly Inset[];

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML with everything that is put into it escaped. */
export function html(parts: TemplateStringsArray, ...insets: readonly Inset[]): Html {
  return new Html(parts.reduce((text, part, index) => text + inset(insets[index - 1]) + part));
}

function inset(value: Inset): string {
  if (value instanceof Html) return value.text;
  if (value === undefined || value === false) return '';
  if (typeof value === 'object') return value.map(inset).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => ESCAPED[character] as string);
}
