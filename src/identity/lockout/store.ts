import { type Database, type Param, statement, type Tx, timestamptz } from '../../database/index.ts'
import { type Portal, toDate } from '../../kernel/index.ts'
import type { Failures } from './rules.ts'

/** The subject of a failure count. The digest hides whether an address has an account. */
export interface FailureSubject {
  portal: Portal
  digest: Uint8Array
}

const toRow = ({ windowStartedAt, inWindow, consecutive, lockedUntil }: Failures) => ({
  window_started_at: toDate(windowStartedAt),
  failures: inWindow,
  in_a_row: consecutive,
  blocked_until: lockedUntil === null ? null : toDate(lockedUntil),
})

const columns = [
  'window_started_at as windowStartedAt',
  'failures as inWindow',
  'in_a_row as consecutive',
  'blocked_until as lockedUntil',
] as const

const insertRow = statement((store, param: Param<FailureSubject & ReturnType<typeof toRow>>) =>
  store
    .insertInto('login_failures')
    .values({
      portal: param('portal'),
      subject_digest: param('digest'),
      window_started_at: param('window_started_at'),
      failures: param('failures'),
      in_a_row: param('in_a_row'),
      blocked_until: param('blocked_until'),
    })
    .onConflict((conflict) => conflict.columns(['portal', 'subject_digest']).doNothing())
    .returning('failures'),
)

/** Inserts the failures of a subject. Returns false if it has any. */
export const insertFailures = async (
  database: Database,
  subject: FailureSubject,
  failures: Failures,
): Promise<boolean> => (await insertRow.first(database, { ...subject, ...toRow(failures) })) !== undefined

const selectRow = statement((store, param: Param<FailureSubject>) =>
  store
    .selectFrom('login_failures')
    .select(columns)
    .where('portal', '=', param('portal'))
    .where('subject_digest', '=', param('digest')),
)

/** Returns the failures of a subject; undefined if it has none. */
export const readFailures = (database: Database, subject: FailureSubject): Promise<Failures | undefined> =>
  selectRow.first(database, { ...subject })

/** Returns the failures of a subject and locks them until the transaction ends; undefined if it has none. */
export const lockFailures = (tx: Tx, { portal, digest }: FailureSubject): Promise<Failures | undefined> =>
  tx
    .selectFrom('login_failures')
    .select(columns)
    .where('portal', '=', portal)
    .where('subject_digest', '=', digest)
    .forUpdate()
    .executeTakeFirst()

/** Replaces the failures of a subject whose row is locked. */
export const updateFailures = async (tx: Tx, { portal, digest }: FailureSubject, failures: Failures): Promise<void> => {
  await tx
    .updateTable('login_failures')
    .set(toRow(failures))
    .where('portal', '=', portal)
    .where('subject_digest', '=', digest)
    .execute()
}

const deleteRow = statement((store, param: Param<FailureSubject>) =>
  store
    .deleteFrom('login_failures')
    .where('portal', '=', param('portal'))
    .where('subject_digest', '=', param('digest')),
)

/** Deletes the failures of a subject. */
export const deleteFailures = async (tx: Tx, subject: FailureSubject): Promise<void> => {
  await deleteRow.all(tx, { ...subject })
}

const deleteSingleRow = statement((store, param: Param<FailureSubject & { window_started_at: Date }>) =>
  store
    .deleteFrom('login_failures')
    .where('portal', '=', param('portal'))
    .where('subject_digest', '=', param('digest'))
    .where('window_started_at', '=', timestamptz(param('window_started_at')))
    .where('failures', '=', 1)
    .where('in_a_row', '=', 1)
    .returning('failures'),
)

/** Deletes the only failure of a subject. Returns false if the failures have changed. */
export const deleteSingleFailure = async (
  database: Database,
  subject: FailureSubject,
  { windowStartedAt }: Failures,
): Promise<boolean> =>
  (await deleteSingleRow.first(database, { ...subject, window_started_at: toDate(windowStartedAt) })) !== undefined
