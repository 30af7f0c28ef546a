declare const kind: unique symbol
/** A business id: a UUIDv7 string (RFC 9562), branded by its kind. */
export type BizId<Kind extends string> = string & { readonly [kind]: Kind }

export type AccountId = BizId<'account'>
export type WorkspaceId = BizId<'workspace'>
export type SessionId = BizId<'session'>
export type RoleId = BizId<'role'>
export type WalletId = BizId<'wallet'>
export type OrderId = BizId<'order'>

/** Generates ids. Injected, so that tests can predict them. */
export interface Ids {
  next<Kind extends string>(): BizId<Kind>
}

/** Cryptographically secure randomness. Injected. */
export interface Randomness {
  bytes(count: number): Uint8Array
  /** A uniform integer in [0, limit). */
  integer(limit: number): number
}

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Whether a text has the form of an id. Check it before a query. */
export const isBizId = (text: string): boolean => pattern.test(text)

/** Brands a text that has been validated or read from the database. */
export const bizId = <Kind extends string>(text: string): BizId<Kind> => text as BizId<Kind>
