import type { AccountId, AccountStatus, Instant, Permission, Portal } from '../../kernel/index.ts'

/** An account as the rest of identity knows it. */
export interface Account {
  id: AccountId
  portal: Portal
  status: AccountStatus
  email: string
  emailCanonical: string
  emailVerifiedAt: Instant | null
  name: string
  /** What mails that nobody asked for are written in. */
  language: string
  passwordHash: string | null
  maxSessions: number
  ipWhitelistEnabled: boolean
  operatorPermissions: Permission[]
}

/** What a new account is made of. Its password, if it has one yet, is hashed already. */
export interface NewAccount {
  id: AccountId
  portal: Portal
  institutionId: string
  status: AccountStatus
  email: string
  emailVerifiedAt: Instant | null
  name: string
  phone: string
  passwordHash: string | null
  language: string
  timezone: string
  country: string
  maxSessions: number
  operatorPermissions: Permission[]
}
