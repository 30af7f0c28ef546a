import { createHmac } from 'node:crypto'
import type { CanaryConfiguration } from '../../config/index.ts'
import type { Call } from '../../gateway/pipeline/call.ts'

/** Why the canary or the backend serves a request. `no key`: it has neither a workspace nor an account. */
export type AssignmentRule = 'named' | 'share' | 'no key'

export interface Assignment {
  isCanary: boolean
  rule: AssignmentRule
}

/** 6 bytes, which a double holds exactly. */
const bucketBytes = 6
const buckets = 2 ** (8 * bucketBytes)

/**
 * Depends on nothing but the settings and the ids, so that every replica decides the same, also after a restart or the
 * rotation of keys.
 */
export function assign(
  canary: CanaryConfiguration,
  { workspace, caller }: Pick<Call, 'workspace' | 'caller'>,
): Assignment {
  if (canary.sticky === 'workspace' && workspace) return select(canary, workspace.id, canary.workspaces)
  return caller ? select(canary, caller.accountId, canary.accounts) : { isCanary: false, rule: 'no key' }
}

/** From 0 to below 1, uniformly distributed. */
export function positionOf(seed: string, id: string): number {
  const digest = createHmac('sha256', `portico canary ${seed}`).update(id).digest()
  return digest.readUIntBE(0, bucketBytes) / buckets
}

function select({ seed, share }: CanaryConfiguration, id: string, named: readonly string[]): Assignment {
  if (named.includes(id)) return { isCanary: true, rule: 'named' }
  return { isCanary: share > 0 && positionOf(seed, id) < share, rule: 'share' }
}
