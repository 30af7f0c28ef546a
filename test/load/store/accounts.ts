/** An account of a seeded store: a workspace of its own with a funded wallet. */
export interface SeededAccount {
  email: string
  workspace: string
  wallet: string
}

/** Accounts of a seeded store, and of the plain tables that it is held against. */
export const people = 100
