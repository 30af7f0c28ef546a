/**
 * The canonical form of each kind of identifier. Two spellings of one identifier have the same form. Each kind has a
 * file. Depends on nothing.
 */

export { canonicalReference } from './references.ts'
