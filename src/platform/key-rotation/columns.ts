import type { SecretPurpose } from '../crypto/index.ts'

/** The texts and bytes of a row. */
export type KeyedRow = Readonly<Record<string, string | Uint8Array | null>>

/** Values that are sealed under the secret key. */
export interface SealedColumn {
  /** The values in reports, such as `signing keys`. */
  label: string
  table: string
  column: string
  /** The primary key. */
  key: readonly string[]
  /** Further columns that `contextOf` reads. */
  reads?: readonly string[]
  purpose: SecretPurpose
  /** The context with which the value was sealed. */
  contextOf(row: KeyedRow): string
}

/** Digests under the secret key. They cannot be computed again without the value. */
export interface DigestColumn {
  label: string
  table: string
  column: string
  /** The time at which a row ends. Later, its digest needs no key. */
  expiresAt?: string
  /** Null until the row is used or has ended. */
  endedAt?: string
  /** The status of a row that has ended for good. */
  ended?: { column: string; status: string }
}

/** The columns that depend on the secret key. */
export interface KeyedColumns {
  sealed: readonly SealedColumn[]
  digests: readonly DigestColumn[]
}

/** Returns the text of a column. Throws a TypeError for another type. */
export function textOf(row: KeyedRow, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw new TypeError(`${column} is not a text`)
  return value
}

/** Returns the bytes of a column. Throws a TypeError for another type. */
export function bytesOf(row: KeyedRow, column: string): Uint8Array {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw new TypeError(`${column} does not contain bytes`)
  return value
}
