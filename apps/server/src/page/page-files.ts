import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ERRORS } from '../errors.js';
import { KeptAnswer } from '../http/kept-answer.js';

/** Where `npm run build` puts the page, and the package ships it; the same from src and dist. */
export const PAGE_FOLDER = fileURLToPath(new URL('../../page', import.meta.url));

/** What the page is made of; anything else in its folder is not served. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** The name of an asset changes with what is in it. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/** A page that was read. */
interface BuiltPage {
  readonly html: KeptAnswer;
  readonly assets: ReadonlyMap<string, KeptAnswer>;
}

/**
 * The files of the built page. All are read when one is first asked for, so that they belong together even when the page is built again
 * beside the running server; only what was found then is served, whatever path a request makes up.
 */
export class PageFiles {
  readonly #folder: string;
  #page: Promise<BuiltPage> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * The page itself, which is the same for every view.
   * @throws MillraceError `PAGE_NOT_BUILT`; it is looked for again the next time.
   */
  async html(): Promise<KeptAnswer> {
    return (await this.#read()).html;
  }

  /**
   * A file that the page loads; undefined when it has none of this name.
   * @param name - of the file, without a folder.
   * @throws MillraceError `PAGE_NOT_BUILT`; it is looked for again the next time.
   */
  async asset(name: string): Promise<KeptAnswer | undefined> {
    return (await this.#read()).assets.get(name);
  }

  #read(): Promise<BuiltPage> {
    this.#page ??= readPage(this.#folder).catch((cause: NodeJS.ErrnoException) => {
      this.#page = undefined;
      throw cause.code === 'ENOENT' ? ERRORS.create('PAGE_NOT_BUILT', {}, { cause }) : cause;
    });
    return this.#page;
  }
}

async function readPage(folder: string): Promise<BuiltPage> {
  const assetsFolder = join(folder, 'assets');
  const [html, names] = await Promise.all([readFile(join(folder, 'index.html')), readdir(assetsFolder)]);
  const assets = names.flatMap((name) => {
    const contentType = CONTENT_TYPES[extname(name)];
    return contentType === undefined ? [] : [{ name, contentType }];
  });
  const read = assets.map(async ({ name, contentType }) => {
    const body = await readFile(join(assetsFolder, name));
    return [name, new KeptAnswer({ contentType, cacheControl: FOR_EVER }, () => body)] as const;
  });
  return {
    html: new KeptAnswer({ contentType: 'text/html; charset=utf-8' }, () => html),
    assets: new Map(await Promise.all(read)),
  };
}
