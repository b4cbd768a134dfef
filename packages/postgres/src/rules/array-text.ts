/** A PostgreSQL array as text, taken apart: elements are texts, null, or arrays again. */
export type ArrayTexts = readonly (string | null | ArrayTexts)[];

/**
 * Writes an array as PostgreSQL reads it.
 * @param elements - texts, null, or arrays again.
 */
export function formatArray(elements: ArrayTexts): string {
  const parts = elements.map((element) => {
    if (element === null) return 'NULL';
    if (typeof element !== 'string') return formatArray(element);
    // Always quoted: unquoted, the text NULL or an empty one would become something else.
    return `"${element.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${parts.join(',')}}`;
}

/**
 * Reads an array as PostgreSQL writes it.
 * @param text - such as `{1,NULL,"a \"b\""}`, with bounds before it or not.
 * @param decode - what an element's text stands for.
 * @returns the elements; arrays of arrays for more dimensions.
 */
export function parseArray(text: string, decode: (element: string) => unknown): unknown[] {
  let at = text.indexOf('{');
  const list = (): unknown[] => {
    const elements: unknown[] = [];
    for (at++; text[at] !== '}' && at < text.length; ) {
      if (text[at] === ',') at++;
      else if (text[at] === '{') elements.push(list());
      else if (text[at] === '"') elements.push(decode(quoted()));
      else elements.push(bare());
    }
    at++;
    return elements;
  };
  const quoted = (): string => {
    let element = '';
    for (at++; text[at] !== '"' && at < text.length; at++) {
      if (text[at] === '\\') at++;
      element += text[at];
    }
    at++;
    return element;
  };
  const bare = (): unknown => {
    const from = at;
    while (at < text.length && text[at] !== ',' && text[at] !== '}') at++;
    const element = text.slice(from, at);
    return element === 'NULL' ? null : decode(element);
  };
  return list();
}
