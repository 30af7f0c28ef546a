import type { ExpressionBuilder } from 'kysely'
import {
  type Database,
  inTransaction,
  type Param,
  type Statements,
  statement,
  type Tables,
  type Tx,
  timestamptz,
  together,
} from '../../database/index.ts'
import { type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { type Failures, noFailures } from './rules.ts'

/** The digest does not reveal the address or account. */
export interface FailureSubject {
  portal: Portal
  digest: Uint8Array
  /** A known device with its own counter, or `unknownDevices`. */
  device: Uint8Array
  /** The same digests under previous secret keys. */
  previous: readonly Pick<FailureSubject, 'digest' | 'device'>[]
}

export const unknownDevices: Uint8Array = new Uint8Array()

type SubjectRow = Omit<FailureSubject, 'previous'>

const columns = [
  'windowStartedAt',
  'failures as inWindow',
  'inARow as consecutive',
  'blockedUntil as lockedUntil',
] as const

const insertRow = statement((store, param: Param<SubjectRow & ReturnType<typeof toRow>>) =>
  store
    .insertInto('login_failures')
    .values({
      portal: param('portal'),
      subjectDigest: param('digest'),
      deviceDigest: param('device'),
      windowStartedAt: param('windowStartedAt'),
      failures: param('failures'),
      inARow: param('inARow'),
      blockedUntil: param('blockedUntil'),
    })
    .onConflict((conflict) => conflict.columns(['portal', 'subjectDigest', 'deviceDigest']).doNothing())
    .returning('failures'),
)

export function insertFailures(subject: FailureSubject, failures: Failures): Statements<boolean> {
  return insertRow.with({ ...subject, ...toRow(failures) }).hasRow()
}

const selectRow = statement((store, param: Param<SubjectRow>) =>
  store
    .selectFrom('login_failures')
    .select(columns)
    .where('portal', '=', param('portal'))
    .where('subjectDigest', '=', param('digest'))
    .where('deviceDigest', '=', param('device')),
)

export function readFailures(database: Database, subject: FailureSubject): Promise<Failures | undefined> {
  return selectRow.first(database, { ...subject })
}

export function readFailuresOfAllDevices(
  database: Database,
  { portal, digest, previous }: FailureSubject,
): Promise<Failures[]> {
  return database
    .selectFrom('login_failures')
    .select(columns)
    .where('portal', '=', portal)
    .where('subjectDigest', 'in', [digest, ...previous.map((each) => each.digest)])
    .execute()
}

export function lockFailures(tx: Tx, { portal, digest, device }: FailureSubject): Promise<Failures | undefined> {
  return tx
    .selectFrom('login_failures')
    .select(columns)
    .where('portal', '=', portal)
    .where('subjectDigest', '=', digest)
    .where('deviceDigest', '=', device)
    .forUpdate()
    .executeTakeFirst()
}

export async function updateFailures(
  tx: Tx,
  { portal, digest, device }: FailureSubject,
  failures: Failures,
): Promise<void> {
  await tx
    .updateTable('login_failures')
    .set(toRow(failures))
    .where('portal', '=', portal)
    .where('subjectDigest', '=', digest)
    .where('deviceDigest', '=', device)
    .execute()
}

const deleteRow = statement((store, param: Param<SubjectRow>) =>
  store
    .deleteFrom('login_failures')
    .where('portal', '=', param('portal'))
    .where('subjectDigest', '=', param('digest'))
    .where('deviceDigest', '=', param('device')),
)

export function deleteFailures({ portal, digest, device, previous }: FailureSubject): Statements<unknown> {
  return together([{ digest, device }, ...previous].map((each) => deleteRow.with({ portal, ...each })))
}

export async function deleteFailuresOfAllDevices(tx: Tx, { portal, digest, previous }: FailureSubject): Promise<void> {
  await tx
    .deleteFrom('login_failures')
    .where('portal', '=', portal)
    .where('subjectDigest', 'in', [digest, ...previous.map((each) => each.digest)])
    .execute()
}

/**
 * Moves failures that were counted under a previous secret key to the current digests, so that a rotation neither ends
 * a lockout nor loses a failure. Replicas can have the keys in the opposite order.
 */
export async function adoptFailures(
  database: Database,
  subject: FailureSubject,
  now: Instant,
  merge: (all: readonly Failures[]) => Failures,
): Promise<void> {
  const { portal, digest, device, previous } = subject
  if (previous.length === 0) return
  const older = database.selectFrom('login_failures').select('portal').where(hasKey(portal, previous))
  if (!(await older.executeTakeFirst())) return
  const isAdopted = await inTransaction(database, async (tx) => {
    await insertRow.first(tx, { ...subject, ...toRow(noFailures(now)) })
    // All replicas lock in the same order, so that they cannot deadlock.
    await tx
      .selectFrom('login_failures')
      .select('portal')
      .where(hasKey(portal, [{ digest, device }, ...previous]))
      .orderBy('subjectDigest')
      .orderBy('deviceDigest')
      .forUpdate()
      .execute()
    const current = await lockFailures(tx, subject)
    // Another replica has moved the current row.
    if (!current) return false
    const adopted = await tx.deleteFrom('login_failures').where(hasKey(portal, previous)).returning(columns).execute()
    await updateFailures(tx, subject, merge([current, ...adopted]))
    return true
  })
  if (!isAdopted) await adoptFailures(database, subject, now, merge)
}

const deleteSingleRow = statement((store, param: Param<SubjectRow & { windowStartedAt: Date }>) =>
  store
    .deleteFrom('login_failures')
    .where('portal', '=', param('portal'))
    .where('subjectDigest', '=', param('digest'))
    .where('deviceDigest', '=', param('device'))
    .where('windowStartedAt', '=', timestamptz(param('windowStartedAt')))
    .where('failures', '=', 1)
    .where('inARow', '=', 1)
    .returning('failures'),
)

/** Returns false if the failures have changed in the meantime. */
export function deleteSingleFailure(subject: FailureSubject, { windowStartedAt }: Failures): Statements<boolean> {
  return deleteSingleRow.with({ ...subject, windowStartedAt: toDate(windowStartedAt) }).hasRow()
}

function toRow({ windowStartedAt, inWindow, consecutive, lockedUntil }: Failures) {
  return {
    windowStartedAt: toDate(windowStartedAt),
    failures: inWindow,
    inARow: consecutive,
    blockedUntil: lockedUntil === null ? null : toDate(lockedUntil),
  }
}

type SubjectKey = FailureSubject['previous'][number]

/** Whether a row counts the failures of a subject under one of its digests. */
function hasKey(portal: Portal, keys: readonly SubjectKey[]) {
  return ({ eb, or, and }: ExpressionBuilder<Tables, 'login_failures'>) =>
    and([
      eb('portal', '=', portal),
      or(keys.map(({ digest, device }) => and({ subjectDigest: digest, deviceDigest: device }))),
    ])
}
