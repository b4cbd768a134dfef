import { ERRORS } from '../errors.js';

/** What is known of a step, on the side of the code or of the database. */
export interface MigrationRecord {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly breaking: boolean;
}

/** Whose steps are compared. */
export interface MigrationOwner {
  readonly schema: string;
  readonly package: string;
}

/**
 * Compares the steps of the code with those of the database.
 * @param files - the code's, in order, without gaps.
 * @param applied - the database's, in order.
 * @returns the steps that are still to be applied. Steps that only the database has are accepted when none is breaking:
 * an older release may run beside a newer one.
 * @throws MillraceError `MIGRATION_CHANGED`, `MIGRATION_GAP`, `SCHEMA_NEWER`.
 */
export function planMigrations<F extends MigrationRecord>(
  files: readonly F[],
  applied: readonly MigrationRecord[],
  owner: MigrationOwner,
): readonly F[] {
  const { schema } = owner;
  for (const [index, { number, name, checksum, breaking }] of applied.entries()) {
    if (number !== index + 1)
      throw ERRORS.create('MIGRATION_GAP', {
        schema,
        package: owner.package,
        found: number,
        missing: index + 1,
      });
    const file = files[index];
    if (!file) {
      if (breaking) throw ERRORS.create('SCHEMA_NEWER', { schema, package: owner.package, found: name });
    } else if (file.name !== name || file.checksum !== checksum) {
      throw ERRORS.create('MIGRATION_CHANGED', { schema, file: `${file.name}.sql` });
    }
  }
  return files.slice(applied.length);
}
