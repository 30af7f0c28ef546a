import type { RawBuilder } from 'kysely'
import {
  type Database,
  type Param,
  query,
  run,
  type Statements,
  statement,
  type Tx,
  together,
} from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { accountIdOfAttempt } from '../accounts/store.ts'
import type { IdentitySettings } from '../settings.ts'
import type { DeviceType } from './schema.ts'

export interface NewPasskey {
  id: string
  portal: Portal
  accountId: AccountId
  credentialId: Uint8Array
  /** COSE. */
  publicKey: Uint8Array
  signCount: number
  transports: string[]
  /** The model of the authenticator. */
  aaguid: string
  deviceType: DeviceType
  backedUp: boolean
  name: string
  /** Whether an enrollment token, or a session of an enrolled passkey, allowed the registration. */
  isEnrolled: boolean
}

export interface Passkey extends NewPasskey {
  createdAt: Instant
  lastUsedAt: Instant | null
  suspendedAt: Instant | null
}

export interface PasskeyOwner {
  portal: Portal
  id: AccountId
}

const columns = [
  'bizId as id',
  'portal',
  'accountBizId as accountId',
  'credentialId',
  'publicKey',
  'signCount',
  'transports',
  'aaguid',
  'deviceType',
  'backedUp',
  'name',
  'createdAt',
  'lastUsedAt',
  'suspendedAt',
  'enrolled as isEnrolled',
] as const

const findOfAccount = statement((store, param: Param<{ portal: Portal; accountId: AccountId }>) =>
  selectOf(store, param('portal'), param('accountId')),
)
const findOfAttempt = statement((store, param: Param<{ portal: Portal; digest: Uint8Array }>) =>
  selectOf(store, param('portal'), accountIdOfAttempt(param('portal'), param('digest'))),
)
const findByCredential = statement((store, param: Param<{ portal: Portal; credentialId: Uint8Array }>) =>
  store
    .selectFrom('passkeys')
    .select(columns)
    .where('portal', '=', param('portal'))
    .where('credentialId', '=', param('credentialId')),
)

/** Without statements if the portal has no passkeys, or the configuration no such portal. Stored ones then do not count. */
export function whereOffered(
  { portals }: Pick<IdentitySettings, 'portals'>,
  portal: Portal,
  passkeys: Statements<Passkey[]>,
): Statements<Passkey[]> {
  return portals[portal]?.passkeys ? passkeys : together([]).map(() => [])
}

/** Oldest first, with suspended ones. */
export function passkeysOf({ portal, id }: PasskeyOwner): Statements<Passkey[]> {
  return findOfAccount.with({ portal, accountId: id })
}

export function readPasskeys(store: Database | Tx, owner: PasskeyOwner): Promise<Passkey[]> {
  return run(store, passkeysOf(owner))
}

/** The passkeys of the account that is signing in. */
export function passkeysOfAttempt(portal: Portal, digest: Uint8Array): Statements<Passkey[]> {
  return findOfAttempt.with({ portal, digest })
}

export function passkeyWithCredential(portal: Portal, credentialId: Uint8Array): Statements<Passkey | undefined> {
  return findByCredential.with({ portal, credentialId }).first()
}

/** Returns false if the portal already has the credential. */
export async function insertPasskey(
  tx: Tx,
  { id, accountId, isEnrolled, ...passkey }: NewPasskey,
  at: Instant,
): Promise<boolean> {
  const inserted = await tx
    .insertInto('passkeys')
    .values({
      ...passkey,
      bizId: id,
      accountBizId: accountId,
      createdAt: toDate(at),
      lastUsedAt: null,
      suspendedAt: null,
      enrolled: isEnrolled,
    })
    .onConflict((conflict) => conflict.columns(['portal', 'credentialId']).doNothing())
    .returning('bizId')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Returns undefined for a passkey of another account. */
export function updatePasskeyName(
  tx: Tx,
  { portal, id }: PasskeyOwner,
  passkeyId: string,
  name: string,
): Promise<Passkey | undefined> {
  return tx
    .updateTable('passkeys')
    .set({ name })
    .where('portal', '=', portal)
    .where('accountBizId', '=', id)
    .where('bizId', '=', passkeyId)
    .returning(columns)
    .executeTakeFirst()
}

/** Without ids, deletes all passkeys of the account. */
export async function deletePasskeys(tx: Tx, { portal, id }: PasskeyOwner, ids?: readonly string[]): Promise<void> {
  let passkeys = tx.deleteFrom('passkeys').where('portal', '=', portal).where('accountBizId', '=', id)
  if (ids) passkeys = passkeys.where('bizId', 'in', ids)
  await passkeys.execute()
}

/** Returns false if it is suspended already. */
export async function suspendPasskey(tx: Tx, { portal, accountId, id }: Passkey, at: Instant): Promise<boolean> {
  const suspended = await tx
    .updateTable('passkeys')
    .set({ suspendedAt: toDate(at) })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('bizId', '=', id)
    .where('suspendedAt', 'is', null)
    .returning('bizId')
    .executeTakeFirst()
  return suspended !== undefined
}

/**
 * Stores the counter of an assertion. Returns false if the passkey has been suspended, deleted or used with a higher
 * counter in the meantime.
 */
export function usePasskey(
  { portal, accountId, id }: Passkey,
  { signCount, backedUp }: { signCount: number; backedUp: boolean },
  at: Instant,
): Statements<boolean> {
  return query((store) =>
    store
      .updateTable('passkeys')
      .set({ signCount, backedUp, lastUsedAt: toDate(at) })
      .where('portal', '=', portal)
      .where('accountBizId', '=', accountId)
      .where('bizId', '=', id)
      .where('suspendedAt', 'is', null)
      .where((row) =>
        row.or([row('signCount', '<', signCount), row.and([row('signCount', '=', 0), row.val(signCount === 0)])]),
      )
      .returning('bizId'),
  ).hasRow()
}

function selectOf(store: Database | Tx, portal: RawBuilder<Portal>, accountId: RawBuilder<AccountId>) {
  return store
    .selectFrom('passkeys')
    .select(columns)
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .orderBy('createdAt')
    .orderBy('bizId')
}
