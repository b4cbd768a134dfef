/** Why a line of a body cannot be taken; whoever counts the lines says which. */
export class LineFault extends Error {
  override readonly name = 'LineFault';
}
