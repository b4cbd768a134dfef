import { PATHS } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { html } from '../../src/docs/html.js';
import { openApiDocument } from '../../src/docs/openapi-document.js';
import type { OpenApiDocument } from '../../src/docs/openapi-model.js';
import { docsPage } from '../../src/docs/page.js';

const document = openApiDocument('1.2.3');

describe('the page', () => {
  const page = docsPage(document);

  it('shows every route, and each link on it leads somewhere', () => {
    for (const id of Object.keys(PATHS)) expect(page).toContain(`id="${id}"`);
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
  });

  it('needs no script and nothing inline, as its policy demands', () => {
    expect(page).not.toMatch(/<script|<style| style=| on\w+=|javascript:/i);
    const loaded = [...page.matchAll(/<(?:link|img|iframe)[^>]*(?:href|src)="([^"]+)"/g)];
    expect(loaded.map(([, url]) => url)).toEqual(['data:,', 'docs/style.css']);
  });

  it('closes what it opens', () => {
    for (const tag of ['details', 'section', 'table', 'div', 'dl', 'ul', 'pre', 'main', 'nav', 'summary']) {
      const count = (pattern: string) => page.match(new RegExp(pattern, 'g'))?.length ?? 0;
      expect(count(`<${tag}[ >]`), tag).toBe(count(`</${tag}>`));
    }
  });

  it('shows whatever a document says as text', () => {
    const hostile = '<script>alert(1)</script>"\'&';
    const text = JSON.stringify(document).replaceAll(
      'Submit a command',
      JSON.stringify(hostile).slice(1, -1),
    );
    const shown = docsPage(JSON.parse(text) as OpenApiDocument);
    expect(shown).not.toContain('<script');
    expect(shown).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;');
  });
});

describe('html', () => {
  it('escapes texts, keeps HTML, and shows nothing for what there is not', () => {
    const inner = html`<b>${'<'}</b>`;
    expect(html`a${inner}${'"'}${1}${false}${undefined}${['&', [inner]]}z`.text).toBe(
      'a<b>&lt;</b>&quot;1&amp;<b>&lt;</b>z',
    );
  });
});
