import { sql } from 'kysely'
import type { Database } from '../../database/index.ts'
import { type AccountId, Refusal, type WorkspaceId } from '../../kernel/index.ts'

/*
 * Nobody may decide on a request that they created, on which they took an earlier decision, or that concerns a
 * workspace to which they belong. Members and operators have different accounts; an equal `person_key` identifies the
 * person. schema/duties.ts applies this to orders.
 */

const reasons = {
  OWN_ORDER: 'the same person created it',
  OWN_WORKSPACE: 'the person belongs to the workspace',
  EARLIER_ACTOR: 'the same person took an earlier decision',
} as const

export function deniedDecision(reason: keyof typeof reasons): Refusal {
  return new Refusal('ACCESS.PERMISSION_DENIED', { internal: `separation of duties: ${reasons[reason]}` })
}

export async function assertDifferentPerson(database: Database, creator: AccountId, decider: AccountId): Promise<void> {
  const { rows } = await sql<{
    same: boolean
  }>`SELECT is_same_person(${decider}, ARRAY[${creator}::uuid]) AS same`.execute(database)
  if (rows[0]?.same !== false) throw deniedDecision('OWN_ORDER')
}

export async function assertOutsider(database: Database, workspace: WorkspaceId, account: AccountId): Promise<void> {
  const { rows } = await sql<{
    member: boolean
  }>`SELECT is_person_in(${account}, ARRAY[${workspace}::uuid]) AS member`.execute(database)
  if (rows[0]?.member !== false) throw deniedDecision('OWN_WORKSPACE')
}
