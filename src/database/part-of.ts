import { type RawBuilder, sql } from 'kysely'
import { canonicalEmail } from '../kernel/index.ts'

/**
 * Whether a column holds a text, in any case. The store folds both: where JavaScript folds one of them, some letters no
 * longer match themselves (İ, Σ at the end of a word).
 */
export const partOf = (column: string, text: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(lower(upper(${sql.ref(column)})), lower(upper(${text}::text))) > 0`

/** The same of a column that holds addresses in the form in which they are compared. */
export const partOfEmail = (column: string, part: string): RawBuilder<boolean> =>
  sql<boolean>`strpos(${sql.ref(column)}, ${canonicalEmail(part)}::text) > 0`
