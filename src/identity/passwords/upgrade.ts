import type { Account } from '../accounts/account.ts'
import type { IdentityPorts } from '../ports.ts'
import { replaceHash } from './password-store.ts'

/** Hashes a password that has just proved right at today's cost, where it was at another; no sign-in waits for it. */
export const upgradePassword = (
  ports: IdentityPorts,
  { portal, id, passwordHash }: Account,
  password: string,
): void => {
  const { background, database, passwords } = ports
  if (passwordHash === null || !passwords.isOutdated(passwordHash)) return
  background.run('password-upgrade', async () => {
    await replaceHash(database, portal, id, passwordHash, await passwords.hash(password))
  })
}
