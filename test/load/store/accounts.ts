/** A seeded account with its own workspace and a funded wallet. */
export interface SeededAccount {
  email: string
  workspace: string
  wallet: string
}

/** The number of accounts, which the plain tables have, too. */
export const people = 100
