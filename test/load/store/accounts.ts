/** A seeded account with its own workspace and a funded wallet. */
export interface SeededAccount {
  email: string
  workspace: string
  wallet: string
}

/** Number of seeded accounts in the store. The plain tables have the same number. */
export const people = 100
