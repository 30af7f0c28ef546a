import { type RawBuilder, sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { keyIdPosition } from '../../platform/crypto/index.ts'
import { accountIdOfAttempt } from '../accounts/store.ts'

/** Under the current secret key, then under previous ones. */
export type DeviceDigests = readonly [Uint8Array, ...Uint8Array[]]

const keyIdOf = (digest: RawBuilder<unknown>): RawBuilder<Uint8Array> =>
  sql`substring(${digest}::bytea FROM ${sql.lit(keyIdPosition.digest)} FOR ${sql.lit(keyIdPosition.length)})`

export interface DeviceLookup {
  /** Whether a sign-in from this client was completed. */
  isKnown: boolean
  /** Counts digests under these secret keys only. */
  devices: number
}

/** By address, or by the digest of a sign-in attempt. */
export type DeviceOwner = { portal: Portal; email: string } | { portal: Portal; attempt: Uint8Array }

const accountIdOf = (owner: DeviceOwner): RawBuilder<AccountId> =>
  'email' in owner
    ? sql`(SELECT biz_id FROM accounts WHERE portal = ${owner.portal} AND email_canonical = ${owner.email})`
    : accountIdOfAttempt(owner.portal, owner.attempt)

/** Runs the same statement for an address without an account. */
export const lookUpDevice = (
  database: Database,
  owner: DeviceOwner,
  clientDigests: DeviceDigests,
  seenAfter: Instant,
): Promise<DeviceLookup> =>
  database
    .selectFrom('known_devices')
    .where('account_biz_id', '=', accountIdOf(owner))
    .where('last_seen_at', '>', timestamptz(seenAfter))
    .where(
      keyIdOf(sql.ref('client_digest')),
      'in',
      clientDigests.map((each) => keyIdOf(sql.val(each))),
    )
    .select((eb) => [
      eb.fn.countAll<number>().as('devices'),
      sql<boolean>`coalesce(bool_or(${eb('client_digest', 'in', clientDigests)}), false)`.as('isKnown'),
    ])
    .executeTakeFirstOrThrow()

/** More devices than a person uses within the retention. */
const maxKnownDevices = 20

/** Deletes all but an account's most recent devices. */
export const deleteOldestDevices = async (tx: Tx, accountId: AccountId): Promise<void> => {
  await tx
    .deleteFrom('known_devices')
    .where('account_biz_id', '=', accountId)
    .where('client_digest', 'not in', (recent) =>
      recent
        .selectFrom('known_devices')
        .select('client_digest')
        .where('account_biz_id', '=', accountId)
        .orderBy('last_seen_at', 'desc')
        .orderBy('client_digest')
        .limit(maxKnownDevices),
    )
    .execute()
}

/** After a theft, the thief's device must count as new. `except` stays known. */
export const deleteDevices = async (
  tx: Tx,
  accountId: AccountId,
  except: readonly Uint8Array[] = [],
): Promise<void> => {
  let devices = tx.deleteFrom('known_devices').where('account_biz_id', '=', accountId)
  if (except.length > 0) devices = devices.where('client_digest', 'not in', except)
  await devices.execute()
}

/** Returns whether the client is new. */
export const recordDevice = async (
  tx: Tx,
  accountId: AccountId,
  [clientDigest, ...previousDigests]: DeviceDigests,
  at: Instant,
): Promise<boolean> => {
  const replaced =
    previousDigests.length === 0
      ? undefined
      : await tx
          .deleteFrom('known_devices')
          .where('account_biz_id', '=', accountId)
          .where('client_digest', 'in', previousDigests)
          .returning('first_seen_at')
          .executeTakeFirst()
  const { isNew } = await tx
    .insertInto('known_devices')
    .values({
      account_biz_id: accountId,
      client_digest: clientDigest,
      first_seen_at: toDate(replaced?.first_seen_at ?? at),
      last_seen_at: toDate(at),
    })
    .onConflict((conflict) =>
      conflict.columns(['account_biz_id', 'client_digest']).doUpdateSet({ last_seen_at: toDate(at) }),
    )
    // xmax is 0 only for an inserted row.
    .returning(sql<boolean>`xmax = 0`.as('isNew'))
    .executeTakeFirstOrThrow()
  return isNew && replaced === undefined
}
