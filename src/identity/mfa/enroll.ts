import type { Tx } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import { storeNewBackupCodes } from './backup-codes.ts'
import { insertIssuedSecret } from './store.ts'
import { otpauthUri, sealSecret, secretBytes, secretText } from './totp.ts'

/** These values cannot be read again. */
export interface EnrolledFactors {
  secret: string
  uri: string
  backupCodes: string[]
}

/** Issues factors. A new account's owner cannot verify a first code yet. */
export async function enrollAuthenticator(
  ports: Pick<IdentityPorts, 'digest' | 'randomness' | 'secretBox'>,
  tx: Tx,
  account: Pick<Account, 'portal' | 'id' | 'email'>,
  issuer: string,
  at: Instant,
): Promise<EnrolledFactors> {
  const { portal, id, email } = account
  const secret = ports.randomness.bytes(secretBytes)
  await insertIssuedSecret(tx, portal, id, sealSecret(ports.secretBox, portal, id, secret), at)
  const backupCodes = await storeNewBackupCodes(ports, tx, account, { at, isIssued: true })
  return { secret: secretText(secret), uri: otpauthUri(issuer, email, secret), backupCodes }
}
