import { type RawBuilder, sql } from 'kysely'
import { query, type Statements, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { keyIdPosition } from '../../platform/crypto/index.ts'
import { accountIdOfAttempt } from '../accounts/store.ts'

/** Under the current secret key, then under previous ones. */
export type DeviceDigests = readonly [Uint8Array, ...Uint8Array[]]

export interface DeviceLookup {
  /** Whether a sign-in from this client was completed. */
  isKnown: boolean
  /** Counts digests under these secret keys only. */
  devices: number
}

/** By address, or by the digest of a sign-in attempt. */
export type DeviceOwner = { portal: Portal; email: string } | { portal: Portal; attempt: Uint8Array }

/** Runs the same statement for an address without an account. */
export function lookUpDevice(
  owner: DeviceOwner,
  clientDigests: DeviceDigests,
  seenAfter: Instant,
): Statements<DeviceLookup> {
  return query((store) =>
    store
      .selectFrom('known_devices')
      .where('accountBizId', '=', accountIdOf(owner))
      .where('lastSeenAt', '>', timestamptz(seenAfter))
      .where(
        keyIdOf(sql.ref('clientDigest')),
        'in',
        clientDigests.map((each) => keyIdOf(sql.val(each))),
      )
      .select((eb) => [
        eb.fn.countAll<number>().as('devices'),
        sql<boolean>`coalesce(bool_or(${eb('clientDigest', 'in', clientDigests)}), false)`.as('isKnown'),
      ]),
  ).only()
}

/** More devices than a person uses within the retention. */
const maxKnownDevices = 20

/** Deletes all but an account's most recent devices. */
export function deleteOldestDevices(accountId: AccountId): Statements<unknown> {
  return query((store) =>
    store
      .deleteFrom('known_devices')
      .where('accountBizId', '=', accountId)
      .where('clientDigest', 'not in', (recent) =>
        recent
          .selectFrom('known_devices')
          .select('clientDigest')
          .where('accountBizId', '=', accountId)
          .orderBy('lastSeenAt', 'desc')
          .orderBy('clientDigest')
          .limit(maxKnownDevices),
      ),
  )
}

/** After a theft, the thief's device must count as new. `except` stays known. */
export async function deleteDevices(tx: Tx, accountId: AccountId, except: readonly Uint8Array[] = []): Promise<void> {
  let devices = tx.deleteFrom('known_devices').where('accountBizId', '=', accountId)
  if (except.length > 0) devices = devices.where('clientDigest', 'not in', except)
  await devices.execute()
}

/** Returns whether the client is new. Replaces digests under previous secret keys. */
export function recordDevice(
  accountId: AccountId,
  [clientDigest, ...previousDigests]: DeviceDigests,
  at: Instant,
): Statements<boolean> {
  const previous = sql<Uint8Array>`any(${previousDigests}::bytea[])`
  const recorded = query((store) =>
    store
      .with('replaced', (within) =>
        within
          .deleteFrom('known_devices')
          .where('accountBizId', '=', accountId)
          .where('clientDigest', '=', previous)
          .returning('firstSeenAt'),
      )
      .insertInto('known_devices')
      .values({
        accountBizId: accountId,
        clientDigest: clientDigest,
        firstSeenAt: sql`coalesce((SELECT min(first_seen_at) FROM replaced), ${timestamptz(at)})`,
        lastSeenAt: toDate(at),
      })
      .onConflict((conflict) =>
        conflict.columns(['accountBizId', 'clientDigest']).doUpdateSet({ lastSeenAt: toDate(at) }),
      )
      // xmax is 0 only for an inserted row.
      .returning(sql<boolean>`xmax = 0 AND NOT EXISTS (SELECT FROM replaced)`.as('isNew')),
  )
  return recorded.only().map(({ isNew }) => isNew)
}

function accountIdOf(owner: DeviceOwner): RawBuilder<AccountId> {
  return 'email' in owner
    ? sql`(SELECT biz_id FROM accounts WHERE portal = ${owner.portal} AND email_canonical = ${owner.email})`
    : accountIdOfAttempt(owner.portal, owner.attempt)
}

function keyIdOf(digest: RawBuilder<unknown>): RawBuilder<Uint8Array> {
  return sql`substring(${digest}::bytea FROM ${sql.lit(keyIdPosition.digest)} FOR ${sql.lit(keyIdPosition.length)})`
}
