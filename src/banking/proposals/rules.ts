import { z } from 'zod'
import { lifetimeMs } from '../../config/values.ts'
import { isValidAt } from '../../database/index.ts'
import {
  type AccountStatus,
  type Caller,
  days,
  denied,
  type Instant,
  type Permission,
  type Portal,
  Refusal,
} from '../../kernel/index.ts'
import type { ProposalKind, ProposalStatus } from './contract.ts'

export const proposalSettings = z.strictObject({
  lifetimeMs: lifetimeMs(1_000).describe(
    'Time in milliseconds after which an operator’s unconfirmed proposal expires.',
  ),
  factorResetDelayMs: z
    .int()
    .min(0)
    .max(days(30))
    .describe(
      'Delay in milliseconds before a reset of second factors by operators takes effect. The user can cancel the reset by signing in with a second factor.',
    ),
})

/** Proposers and deciders of a kind need this permission. */
export const permissionOf: Readonly<Record<ProposalKind, Permission>> = {
  PERMISSIONS: 'operator:manage',
  RESTORE_OWNER: 'recovery:manage',
  RESET_FACTOR: 'recovery:manage',
}

/** The permissions at the time of the proposal, and the proposed ones. */
export const PermissionChange = z.object({ from: z.array(z.string()), to: z.array(z.string()) })
export type PermissionChange = z.output<typeof PermissionChange>

interface OperatorFacts {
  portal: Portal
  status: AccountStatus
  permissions: readonly string[]
}

export function mayAct({ portal, status, permissions }: OperatorFacts, permission: Permission): boolean {
  return portal === 'SYSTEM' && status === 'ACTIVE' && permissions.includes(permission)
}

export function assertMayAct(actor: OperatorFacts, permission: Permission): void {
  if (!mayAct(actor, permission)) throw denied(`lacks ${permission}, or is not active`)
}

const noPermissions: ReadonlySet<Permission> = new Set()

/** Nobody grants what they lack. */
export function mayGrant(actor: OperatorFacts, change: PermissionChange): boolean {
  return addedBy(change).every((code) => actor.permissions.includes(code))
}

/** Nor what their session lacks, see `mfa.required.passkey`. */
export function assertMayGrant(
  actor: OperatorFacts,
  change: PermissionChange,
  { withheld = noPermissions }: Pick<Caller, 'withheld'>,
): void {
  if (!mayGrant(actor, change)) throw denied('grants a permission that the operator lacks')
  const added = addedBy(change)
  if ([...withheld].some((code) => added.includes(code)))
    throw new Refusal('ACCESS.PASSKEY_REQUIRED', { internal: 'grants a permission that the session lacks' })
}

/** Ignores the order. */
export function areSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((code) => other.includes(code))
}

/** A pending proposal is EXPIRED after its time limit. */
export function statusAt(
  { status, createdAt, expiresAt }: { status: ProposalStatus; createdAt: Instant; expiresAt: Instant },
  at: Instant,
): ProposalStatus {
  return status === 'PENDING' && !isValidAt({ from: createdAt, until: expiresAt }, at) ? 'EXPIRED' : status
}

function addedBy({ from, to }: PermissionChange): string[] {
  return to.filter((code) => !from.includes(code))
}
