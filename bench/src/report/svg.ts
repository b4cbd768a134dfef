/*
 * What all pictures share. They carry their own background, so that they can be read on any page; both follow the reader's
 * theme together.
 */

const STYLE = `<style>
text{fill:#1f2328;font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:11px}
.title{font-size:14px;font-weight:600}.strong{font-weight:600}.soft{fill:#59636e}.end{text-anchor:end}.mid{text-anchor:middle}
.card{fill:#fff}.grid{stroke:#e4e8ec}.frame{fill:none;stroke:#b4bcc4}.mark{stroke:#1f2328;stroke-width:2}.ring{fill:none;stroke:#1f2328;stroke-width:1.2}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.card{fill:#0d1117}.grid{stroke:#252b33}.frame{stroke:#4a525c}.mark,.ring{stroke:#e6edf3}}
</style>`;

/** Colours that can be seen on both backgrounds. */
export const COLOURS = {
  blue: '#2f81f7',
  orange: '#d9730d',
  red: '#e5484d',
  grey: '#8b949e',
} as const;

/** Text from anywhere becomes text in the picture, nothing else. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign] ?? '');

/** A coordinate, as short as can be seen. */
export const short = (value: number): string => String(Math.round(value * 10) / 10);

const MARK_STEPS = [1, 2, 5];

/** Returns a round distance of axis marks. There are at most `count` marks up to `highest`. */
export function markDistance(highest: number, count: number): number {
  for (let power = 0.1; ; power *= 10)
    for (const step of MARK_STEPS)
      if (highest / (step * power) <= count) return Number((step * power).toPrecision(1));
}

/**
 * A whole picture.
 * @returns an SVG document.
 */
export const picture = (
  { width, height, left }: { readonly width: number; readonly height: number; readonly left: number },
  title: string,
  parts: readonly string[],
): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    STYLE,
    `<rect class="card" width="${width}" height="${height}" rx="6"/>`,
    `<text class="title" x="${left}" y="22">${escaped(title)}</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
