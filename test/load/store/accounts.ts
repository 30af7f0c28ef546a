/** An account of a seeded store: a workspace of its own with a funded wallet. */
export interface SeededAccount {
  email: string
  workspace: string
  wallet: string
}
