/** A seeded account with a separate workspace and a funded wallet. */
export interface SeededAccount {
  email: string
  workspace: string
  wallet: string
}

/** Number of seeded accounts, in the store and in the plain tables. */
export const people = 100
