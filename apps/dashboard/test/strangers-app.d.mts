/** Would run in every page that takes a text for HTML. */
export const SCRIPT: string;
/** Would be run by a page that makes it a link. */
export const LINK: string;
/** A text with turned direction and a hidden character, as it is read. */
export const TURNED_AS_SHOWN: string;
/** What strangers store wherever they can. */
export const HOSTILE: string;
