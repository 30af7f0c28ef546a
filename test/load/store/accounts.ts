/** A seeded account with a separate workspace and a funded wallet. */
export interface SeededAccount {
  email: string
  workspace: string
  wallet: string
}

/** Seeded accounts, used by the store and the plain tables. */
export const people = 100
